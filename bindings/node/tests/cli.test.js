// The command of `@emendate/cli`, as npx starts it.
import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, writeFile } from 'node:fs/promises'
import { createInterface } from 'node:readline'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import test from 'node:test'

const NPX = ['--no', '--offline', '@emendate/cli']

test('npx runs the command, and passes its status on', () => {
  const version = spawnSync('npx', [...NPX, '--version'], { encoding: 'utf8' })
  assert.match(version.stdout, /^emend \d+\.\d+\.\d+/)
  assert.equal(version.status, 0)
  assert.notEqual(spawnSync('npx', [...NPX, 'no-such-command']).status, 0)
})

test('a signal ends the command, too', { timeout: 60_000 }, async t => {
  const directory = await mkdtemp(join(tmpdir(), 'emendate-'))
  const environment = { ...process.env, HOME: directory, XDG_STATE_HOME: join(directory, 'state') }
  const program = ['node_modules/@emendate/cli/emend.js', 'mcp', '--root', directory]
  const server = spawn(process.execPath, program, { env: environment, stdio: ['pipe', 'pipe', 'inherit'] })
  t.after(() => server.kill('SIGKILL'))
  const client = { name: 'test', version: '1' }
  const params = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: client }
  server.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'initialize', params })}\n`)
  await once(server.stdout, 'data')
  server.kill('SIGTERM')
  // The output is closed when the command has ended as well, which has the same one.
  const [status, signal] = await once(server, 'close')
  assert.ok(signal === null && status !== null, `${status} ${signal}`)
})

test('npx starts the MCP server, which edits a file', async t => {
  const directory = await mkdtemp(join(tmpdir(), 'emendate-'))
  await writeFile(join(directory, 'a.txt'), 'one\n')
  const environment = { ...process.env, HOME: directory, XDG_STATE_HOME: join(directory, 'state') }
  const server = spawn('npx', [...NPX, 'mcp', '--root', directory], { env: environment, stdio: ['pipe', 'pipe', 'inherit'] })
  t.after(() => server.kill())
  const replies = createInterface({ input: server.stdout })[Symbol.asyncIterator]()
  let id = 0
  const request = async (method, params) => {
    server.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', id: (id += 1), method, params })}\n`)
    for (;;) {
      const message = JSON.parse((await replies.next()).value)
      if (message.id === id) return message.result
    }
  }
  const client = { name: 'test', version: '1' }
  await request('initialize', { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: client })
  server.stdin.write('{"jsonrpc":"2.0","method":"notifications/initialized"}\n')
  const call = (name, args) => request('tools/call', { name, arguments: args })
  const path = join(directory, 'a.txt')
  assert.ok(!(await call('read', { file_path: path })).isError)
  assert.ok(!(await call('edit', { file_path: path, old_string: 'one', new_string: 'two' })).isError)
  assert.equal(await readFile(path, 'utf8'), 'two\n')
  server.stdin.end()
  const status = await new Promise(resolve => server.once('exit', resolve))
  assert.equal(status, 0)
})
