// Tests of the adapters with the packages of their frameworks.
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdtemp, readFile, readdir, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import test from 'node:test'
import Anthropic from '@anthropic-ai/sdk'
import { anthropic } from '@ai-sdk/anthropic'
import { openai } from '@ai-sdk/openai'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { InMemoryTransport } from '@modelcontextprotocol/sdk/inMemory.js'
import { Agent, run } from '@openai/agents'
import { ScriptedModel, assistantMessage, functionCall } from '@openai/agents/testing'
import { Workspace, profiles } from 'emendate'
import * as aiSdk from 'emendate/ai-sdk'
import { MemoryCommands, textEditor, tools as anthropicTools } from 'emendate/anthropic'
import { server } from 'emendate/claude-agent'
import { EmendBackend } from 'emendate/deepagents'
import * as mastra from 'emendate/mastra'
import { PatchEditor, applyPatchTool, functionTools } from 'emendate/openai-agents'

const PAGES = join(process.env.EMEND_REPOSITORY, 'docs/adapters/node')
const ASKING = '[policy]\nask = ["Edit(*.toml)"]\n'

const pages = (await readdir(PAGES)).sort()
for (const page of pages) {
  test(`the program of ${page} runs`, async () => {
    const text = await readFile(join(PAGES, page), 'utf8')
    const [program, ...more] = [...text.matchAll(/^```js\n(.*?)^```$/gms)].map(([, program]) => program)
    assert.ok(more.length === 0 && program.split('\n').length <= 45)
    await writeFile(`${page}.mjs`, program)
    const done = spawnSync(process.execPath, [`${page}.mjs`], { encoding: 'utf8' })
    assert.equal(done.status, 0, done.stderr)
  })
}

test('every adapter has a page', async () => {
  const { exports } = JSON.parse(await readFile('node_modules/emendate/package.json', 'utf8'))
  const names = Object.keys(exports).filter(name => name !== '.' && name !== './package.json')
  assert.deepEqual(names.map(name => `${name.slice(2)}.md`).sort(), pages)
})

/** A client of the Anthropic SDK whose model makes one call, and the results that it receives. */
function scripted(name, input) {
  const results = []
  const fetch = async (_, { body }) => {
    const last = JSON.parse(body).messages.at(-1).content
    const first = typeof last === 'string'
    if (!first) results.push(...last)
    const content = [first ? { type: 'tool_use', id: '1', name, input } : { type: 'text', text: 'Done.' }]
    const usage = { input_tokens: 1, output_tokens: 1 }
    const message = { id: 'm', type: 'message', role: 'assistant', model: 'claude', content, usage }
    return Response.json({ ...message, stop_reason: first ? 'tool_use' : 'end_turn' })
  }
  return { client: new Anthropic({ apiKey: 'test', fetch }), results }
}

async function runner(tools, name, input) {
  const { client, results } = scripted(name, input)
  const messages = [{ role: 'user', content: 'Go.' }]
  await client.beta.messages.toolRunner({ model: 'claude', max_tokens: 100, messages, tools }).runUntilDone()
  assert.equal(results.length, 1)
  return results[0]
}

test('Anthropic: a refusal is an error result, and a person is asked', async () => {
  const workspace = await Workspace.inMemory({ 'a.py': 'x\nx\n', 'a.toml': 'a = 1\n' }, { config: ASKING })
  const session = workspace.session('agent', { unread: 'allow' })
  const name = 'str_replace_based_edit_tool'
  const replace = (path, old_str, new_str) => ({ command: 'str_replace', path, old_str, new_str })
  const refused = await runner([textEditor(session)], name, replace('/a.py', 'x', 'y'))
  assert.ok(refused.is_error && /line 1:[^]*Next: /.test(JSON.stringify(refused.content)))
  const asked = []
  const approve = answer => question => {
    asked.push(question.files.length)
    return answer
  }
  const editor = answer => textEditor(session, { approve: approve(answer), maxCharacters: 100 })
  assert.equal(editor(true).max_characters, 100)
  assert.ok((await runner([editor(false)], name, replace('/a.toml', '1', '2'))).is_error)
  assert.ok(!(await runner([editor(true)], name, replace('/a.toml', '1', '2'))).is_error)
  assert.deepEqual([asked, await workspace.readText('a.toml')], [[1, 1], 'a = 2\n'])
  const edit = { file_path: '/a.py', old_string: 'x\nx', new_string: 'y' }
  assert.ok(!(await runner(anthropicTools(session, 'claude'), 'Edit', edit)).is_error)
  assert.equal(await workspace.readText('a.py'), 'y\n')
})

const refusesName = error => String(error.content).includes('no blanks')

test('Anthropic: memories in memory and on disk', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'emendate-'))
  for (const workspace of [await Workspace.inMemory(), await Workspace.open(directory)]) {
    const memory = new MemoryCommands(workspace)
    const path = '/memories/notes/a.md'
    assert.equal(await memory.view({ command: 'view', path: '/memories' }), 'There are no memories in /memories.')
    await memory.create({ command: 'create', path, file_text: 'one\n' })
    await memory.str_replace({ command: 'str_replace', path, old_str: 'one', new_str: 'two' })
    await memory.insert({ command: 'insert', path, insert_line: 1, insert_text: 'three\n' })
    const seen = await memory.view({ command: 'view', path, view_range: [1, 2] })
    assert.ok(seen.includes('two') && seen.includes('three') && !seen.includes(directory))
    await memory.rename({ command: 'rename', old_path: '/memories/notes', new_path: '/memories/old' })
    await assert.rejects(memory.view({ command: 'view', path }), error => !String(error.content).includes(directory))
    await assert.rejects(memory.delete({ command: 'delete', path: '/memories/old/a.md ' }), refusesName)
    await assert.rejects(memory.delete({ command: 'delete', path: '/memories/x\n*** Delete File: old/a.md' }), refusesName)
    await memory.delete({ command: 'delete', path: '/memories/old' })
    await assert.rejects(memory.delete({ command: 'delete', path: '/memories' }))
    await assert.rejects(memory.view({ command: 'view', path: '/memories/../etc/passwd' }))
    await memory.session.undo()
    assert.ok((await memory.view({ command: 'view', path: '/memories/old/a.md' })).includes('three'))
  }
})

test('Anthropic: memories that are named like what models put around names', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'emendate-'))
  const workspace = await Workspace.open(directory)
  const memory = new MemoryCommands(workspace)
  await memory.create({ command: 'create', path: '/memories/e', file_text: 'another\n' })
  for (const name of ['e **', '`b`', '"q"', "'s'"]) {
    const path = `/memories/${name}`
    await memory.create({ command: 'create', path, file_text: 'one\n' })
    await memory.rename({ command: 'rename', old_path: path, new_path: '/memories/b **' })
    await memory.delete({ command: 'delete', path: '/memories/b **' })
    assert.deepEqual(await readdir(directory), ['e'])
  }
})

test('OpenAI: operations of the editor, and a failed one', async () => {
  const workspace = await Workspace.inMemory({ 'a.py': 'x = 1\n', 'b.py': 'b\n' })
  const editor = new PatchEditor(workspace.session('agent', { unread: 'allow' }))
  const update = diff => editor.updateFile({ type: 'update_file', path: 'a.py', diff, moveTo: 'c.py' })
  assert.equal((await editor.createFile({ type: 'create_file', path: 'n.py', diff: '+n\n' })).status, 'completed')
  assert.equal((await editor.deleteFile({ type: 'delete_file', path: 'b.py' })).status, 'completed')
  const failed = await update('@@\n-nothing\n+x\n')
  assert.ok(failed.status === 'failed' && failed.output.includes('Next: '))
  assert.equal((await update('@@\n-x = 1\n+x = 2\n')).status, 'completed')
  const contents = Object.entries(workspace.files()).map(([path, content]) => [path, content.toString()])
  assert.deepEqual(contents.sort(), [['/c.py', 'x = 2\n'], ['/n.py', 'n\n']])
})

test('OpenAI, AI SDK: an operation changes only its own file', async () => {
  const change = '@@\n-z = 4\n+z = 5\n'
  const foreign = [
    { type: 'update_file', path: 'a.py', diff: `${change}*** Delete File: e\n` },
    { type: 'update_file', path: 'a.py', diff: `*** Move to: /b.py\n${change}` },
    { type: 'update_file', path: 'a.py', diff: `${change}*** End Patch\n*** Begin Patch\n*** Delete File: e\n` },
    { type: 'create_file', path: 'n', diff: '+a\n*** Delete File: e\n' },
    { type: 'delete_file', path: 'a.py\n*** Delete File: e' },
    { type: 'delete_file', path: 'e ' },
    { type: 'delete_file', path: 'e (deleted)' },
    { type: 'update_file', path: '\ud83d', diff: change },
  ]
  for (const operation of foreign) {
    const workspace = await Workspace.inMemory({ 'a.py': 'z = 4\n', e: 'keep\n' })
    const session = workspace.session('agent', { unread: 'allow' })
    const editor = new PatchEditor(session)
    assert.equal(await editor.needsApproval(operation), false)
    for (const result of [await editor.updateFile(operation), await aiSdk.applyPatch(session)({ operation })]) {
      assert.ok(result.status === 'failed' && result.output.includes('Next: '), result.output)
    }
    assert.deepEqual(Object.values(workspace.files()).map(String).sort(), ['keep\n', 'z = 4\n'])
  }
  const workspace = await Workspace.inMemory({ 'a/x': 'z = 4\n', x: 'z = 4\n' })
  const editor = new PatchEditor(workspace.session('agent', { unread: 'allow' }))
  assert.equal((await editor.updateFile({ type: 'update_file', path: 'a/x', diff: change })).status, 'completed')
  assert.equal(await workspace.readText('x'), 'z = 4\n')
})

test('Anthropic: memories show the text of a file, and emptied directories are removed', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'emendate-'))
  const memory = new MemoryCommands(await Workspace.open(directory))
  const path = '/memories/q/r/n.md'
  await memory.create({ command: 'create', path, file_text: `store: ${directory}/n.md\n` })
  assert.ok((await memory.view({ command: 'view', path })).includes(`store: ${directory}/n.md`))
  const again = memory.create({ command: 'create', path, file_text: 'x\n' })
  await assert.rejects(again, ({ message }) => message.includes(path) && !message.includes('overwrite'))
  await memory.rename({ command: 'rename', old_path: '/memories/q', new_path: '/memories/s' })
  assert.deepEqual(await readdir(directory), ['s'])
  await memory.delete({ command: 'delete', path: '/memories/s' })
  assert.deepEqual(await readdir(directory), [])
})

test('Anthropic: a view ends where the model was told', async () => {
  const workspace = await Workspace.inMemory({ b: 'abcdefghij\n'.repeat(9) })
  const view = await textEditor(workspace.session(), { maxCharacters: 50 }).run({ command: 'view', path: '/b' })
  assert.ok(view.includes('     2\tabc') && !view.includes('     3\tabc') && view.includes('view_range [3, 9]'))
})

test('Anthropic: the limit of a view counts characters of the text in any encoding', async () => {
  const lines = end => `\u00e4bcd\u{1f600}fghij${end}`.repeat(9)
  const files = {
    a: lines('\n'),
    b: lines('\r\n'),
    c: Buffer.from(`\ufeff${lines('\n')}`),
    d: Buffer.from(`\ufeff${lines('\r\n')}`, 'utf16le'),
    e: Buffer.from('\u00e4bcd\u00e9fghij\n'.repeat(9), 'latin1'),
  }
  const workspace = await Workspace.inMemory(files)
  for (const name of Object.keys(files)) {
    const view = await textEditor(workspace.session(), { maxCharacters: 50 }).run({ command: 'view', path: `/${name}` })
    assert.ok(view.includes('     2\t\u00e4bc') && !view.includes('     3\t') && view.includes('view_range [3, 9]'), view)
    const whole = await textEditor(workspace.session(), { maxCharacters: 18 * 9 }).run({ command: 'view', path: `/${name}` })
    assert.ok(whole.includes('     9\t\u00e4bc') && !whole.includes('not shown'), whole)
  }
})

test('deepagents: a search finds and shows the text in any encoding', async () => {
  const text = 'one\r\nzw\u00f6lf K\u00f6rbe\r\n'
  const utf16 = Buffer.from(`\ufeff${text}`, 'utf16le')
  const files = { a: text, b: `\ufeff${text}`, c: utf16, d: Buffer.from(text, 'latin1') }
  const backend = new EmendBackend((await Workspace.inMemory(files)).session())
  const found = (await backend.grep('\u00f6lf K\u00f6')).matches
  assert.deepEqual(found.map(({ path }) => path).sort(), ['/a', '/b', '/c', '/d'])
  assert.deepEqual(new Set(found.map(({ line, text }) => `${line} ${text}`)), new Set(['2 zw\u00f6lf K\u00f6rbe']))
})

test('deepagents: an upload is never converted', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'emendate-'))
  const backend = new EmendBackend((await Workspace.open(directory)).session())
  const file = join(directory, 'a.txt')
  const pairs = [
    ['a\r\nb\r\n', 'a\nc\n'],
    ['a\nb\n', 'a\r\nc\r\n'],
    ['a\nb\r\nc\n', 'a\nc\n'],
    ['\ufeffa\n', 'b\n'],
    [Buffer.from('\ufeff\u00e4\n', 'utf16le'), '\u00f6\n'],
    [Buffer.from('zw\u00f6lf K\u00f6rbe\n', 'latin1'), 'elf K\u00f6rbe\n'],
  ]
  for (const [before, after] of pairs) {
    await writeFile(file, before)
    const upload = async content => (await backend.uploadFiles([['/a.txt', Buffer.from(content)]]))[0].error
    assert.equal(await upload(after), 'permission_denied')
    assert.deepEqual(await readFile(file), Buffer.from(before))
    await writeFile(file, 'x')
    assert.equal(await upload(after), null)
    assert.deepEqual(await readFile(file), Buffer.from(after))
  }
})

test('deepagents: a directory has one name', async () => {
  const backend = new EmendBackend((await Workspace.inMemory({ 'a.txt': 'x\n' })).session())
  for (const path of ['.', './', '/.', '/', '']) {
    assert.deepEqual((await backend.ls(path)).files, [{ path: '/a.txt', is_dir: false }], path)
  }
})

test('OpenAI: a rule that asks interrupts the run', async () => {
  const input = { file_path: '/a.toml', old_string: '1', new_string: '2' }
  const operation = { type: 'update_file', path: 'a.toml', diff: '@@\n-a = 1\n+a = 2\n' }
  const cases = [
    [functionTools, functionCall('Edit', input, { callId: '1' })],
    [applyPatchTool, { type: 'apply_patch_call', callId: '1', status: 'completed', operation }],
  ]
  for (const [tools, call] of cases) {
    const workspace = await Workspace.inMemory({ 'a.toml': 'a = 1\n' }, { config: ASKING })
    const session = workspace.session('agent', { unread: 'allow' })
    const model = new ScriptedModel([[call], [assistantMessage('Done.')]])
    const agent = new Agent({ name: 'editor', model, tools: [tools(session, 'claude')].flat() })
    const stopped = await run(agent, 'Set a to 2.')
    assert.deepEqual([stopped.interruptions.length, await workspace.readText('a.toml')], [1, 'a = 1\n'])
    stopped.state.approve(stopped.interruptions[0])
    assert.equal((await run(agent, stopped.state)).finalOutput, 'Done.')
    assert.equal(await workspace.readText('a.toml'), 'a = 2\n')
  }
})

test('Claude Agent: tools have schemas and hints, and refusals are errors', async () => {
  const workspace = await Workspace.inMemory({ 'a.py': 'x = 1\n' })
  const { instance, type, name } = server(workspace.session(), 'claude')
  assert.deepEqual([type, name], ['sdk', 'emend'])
  const [one, other] = InMemoryTransport.createLinkedPair()
  await instance.connect(one)
  const client = new Client({ name: 'test', version: '1' })
  await client.connect(other)
  const { tools } = await client.listTools()
  const edit = tools.find(tool => tool.name === 'Edit')
  assert.ok('old_string' in edit.inputSchema.properties && edit.annotations.readOnlyHint === false)
  const refused = await client.callTool({ name: 'Edit', arguments: { file_path: '/a.py', old_string: 'x', new_string: 'y' } })
  assert.ok(refused.isError && refused.content[0].text.includes('Next: '))
  await client.close()
})

test('AI SDK: outputs for models, and the editors of providers', async () => {
  const workspace = await Workspace.inMemory({ 'a.py': 'x = 1\n' })
  const session = workspace.session('agent', { unread: 'allow' })
  for (const profile of Object.keys(profiles())) assert.ok(Object.keys(aiSdk.tools(session, profile)).length > 0)
  const { Edit } = aiSdk.tools(session, 'claude')
  const output = await Edit.execute({ file_path: '/a.py', old_string: 'nothing', new_string: 'y' }, {})
  const said = Edit.toModelOutput({ output })
  assert.ok(said.type === 'error-text' && said.value.includes('Next: '))
  const editor = anthropic.tools.textEditor_20250728({ execute: aiSdk.textEditor(session) })
  const command = { command: 'str_replace', path: '/a.py', old_str: 'x = 1', new_str: 'x = 2' }
  assert.match(await editor.execute(command, {}), /x = 2/)
  const patch = openai.tools.applyPatch({ execute: aiSdk.applyPatch(session) })
  const operation = { type: 'update_file', path: 'a.py', diff: '@@\n-x = 2\n+x = 3\n' }
  assert.equal((await patch.execute({ callId: '1', operation }, {})).status, 'completed')
  assert.equal((await patch.execute({ callId: '2', operation: { ...operation, diff: '@@\n-no\n+x\n' } }, {})).status, 'failed')
  assert.equal(await workspace.readText('a.py'), 'x = 3\n')
})

test('Mastra: a refusal is an error for the model', async () => {
  const session = (await Workspace.inMemory({ 'a.py': 'x = 1\n' })).session()
  const { Edit } = mastra.tools(session, 'claude')
  const output = await Edit.execute({ file_path: '/a.py', old_string: 'x', new_string: 'y' }, {})
  assert.deepEqual([output.ok, Edit.toModelOutput(output).type], [false, 'error-text'])
})

test('deepagents: advice names the tools of the agent', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'emendate-'))
  const workspace = await Workspace.open(directory)
  const backend = new EmendBackend(workspace.session('agent'))
  await workspace.session('other', { unread: 'allow' }).write('a.py', 'x = 1\ny = 2\nx = 1\n')
  const unread = (await backend.edit('/a.py', 'y = 2', 'y = 3')).error
  assert.ok(unread.includes('Call read_file with {"file_path":"/a.py"}'), unread)
  await backend.read('/a.py')
  const ambiguous = (await backend.edit('/a.py', 'x = 1', 'x = 2')).error
  assert.ok(ambiguous.includes('replace_all') && !ambiguous.includes('"at"'), ambiguous)
  await backend.edit('/a.py', 'yyy = 2', 'y = 3')
  const again = (await backend.edit('/a.py', 'yyy = 2', 'y = 3')).error
  // Tools of the agent count lines from 0.
  assert.ok(again.includes('Call read_file with {"file_path":"/a.py","offset":0,"limit":'), again)
  const listed = (await backend.ls('/a.py')).error
  const outside = (await backend.write('/../x', 'y')).error
  for (const text of [unread, ambiguous, again, listed, outside]) assert.ok(!text.includes(directory), text)
  // Half of a character, as in a call that was cut off.
  const half = [
    await backend.edit('/a.py', 'x', '\ud83d'),
    await backend.write('/b', '\ud83d'),
    await backend.read('/\ud83d'),
    await backend.grep('x', '/\ud83d'),
  ]
  for (const { error } of half) assert.ok(error.includes('half of a character') && !error.includes('toWellFormed'), error)
  assert.equal((await backend.uploadFiles([['/\ud83d', Buffer.from('x')]]))[0].error, 'permission_denied')
})

test('the hosted apply_patch: advice names no tool that was not offered', async () => {
  const workspace = await Workspace.inMemory({ 'a.py': 'x = 1\ny = 2\n' })
  const editor = new PatchEditor(workspace.session('agent', { unread: 'allow' }))
  const update = { type: 'update_file', path: 'a.py', diff: '@@\n-yy = 2\n+y = 3\n' }
  const operations = [{ type: 'create_file', path: 'a.py', diff: '+x\n' }, update, update, { type: 'delete_file', path: 'gone' }]
  const said = []
  for (const operation of operations) said.push((await editor.updateFile(operation)).output)
  assert.ok(said[2].includes('do not send this call again'), said[2])
  for (const name of ['read_file', 'write', 'old_string', 'overwrite', 'ask a person']) {
    assert.ok(!said.join('\n').includes(name), `${name}: ${said.join('\n')}`)
  }
  const half = await editor.updateFile({ ...update, diff: '@@\n-x\n+\ud83d\n' })
  assert.ok(half.status === 'failed' && half.output.includes('half of a character'), half.output)
})

test('deepagents: the backend', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'emendate-'))
  for (const workspace of [await Workspace.inMemory(), await Workspace.open(directory)]) {
    const backend = new EmendBackend(workspace.session('agent'))
    assert.deepEqual(await backend.write('/src/a.py', 'one\ntwo\nthree\n'), { path: '/src/a.py', filesUpdate: null })
    await backend.write('/b.md', 'two\n')
    const listed = (await backend.ls('/')).files.map(({ path }) => path).sort()
    assert.deepEqual(listed, ['/b.md', '/src/'])
    assert.deepEqual((await backend.glob('**/*.py')).files, [{ path: '/src/a.py', is_dir: false }])
    const found = (await backend.grep('two')).matches.sort((a, b) => (a.path < b.path ? -1 : 1))
    assert.deepEqual(found, [{ path: '/b.md', line: 1, text: 'two' }, { path: '/src/a.py', line: 2, text: 'two' }])
    assert.equal((await backend.grep('two', '/', null, 1)).truncated, true)
    const page = await backend.read('/src/a.py', 1, 1)
    assert.deepEqual([page.content, page.startLine, page.endLine, page.nextOffset], ['two\n', 2, 2, 2])
    assert.equal((await backend.edit('/src/a.py', 'two', '2')).occurrences, 1)
    const refused = await backend.edit('/src/a.py', 'nothing', 'x')
    assert.ok(refused.error.includes('Next: ') && !refused.error.includes(directory))
    const [kept] = await backend.downloadFiles(['/src/a.py', '/gone'])
    assert.equal(Buffer.from(kept.content).toString(), 'one\n2\nthree\n')
    assert.deepEqual(await backend.uploadFiles([['/b.md', Buffer.from('b\n')]]), [{ path: '/b.md', error: null }])
    assert.equal((await backend.readRaw('/b.md')).data.content, 'b\n')
    assert.deepEqual(await backend.delete('/src'), { path: '/src', filesUpdate: null })
    assert.ok((await backend.read('/src/a.py')).error)
  }
})
