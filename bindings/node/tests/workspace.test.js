// Workspaces and sessions: files in memory and on disk, tools, questions, cancellation.
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { mkdtemp, mkdir, readFile, readdir, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import test from 'node:test'
import { pathToFileURL } from 'node:url'
import { Worker } from 'node:worker_threads'
import { Reply, Session, Workspace, errors, instructions, profiles } from 'emendate'

// Modules of the package that people do not import.
const packaged = name => new URL(name, import.meta.resolve('emendate'))

/** The declarations of the package without their comments. */
async function declarations() {
  const texts = await Promise.all(['index.d.ts', 'text.d.ts'].map(name => readFile(packaged(name), 'utf8')))
  return texts.join('\n').replace(/\/\*\*[^]*?\*\//g, '')
}

/** True if a part of the declarations, or an interface that it names, has a parameter or a member of that name. */
function declares(all, part, name) {
  if (new RegExp(`\\b${name}\\??: `).test(part)) return true
  const named = [...part.matchAll(/\b(\w+Options)\b/g)].map(([, found]) => found)
  const bodies = named.map(it => all.match(new RegExp(`interface ${it}\\b([^]*?)\\n}`))?.[1]).filter(it => it !== undefined)
  return bodies.some(body => declares(all, body, name))
}

const ASKING = '[policy]\nask = ["Edit(*.toml)"]\ndeny = ["secret*"]\n'

const temporary = () => mkdtemp(join(tmpdir(), 'emendate-'))

test('a session edits what it has read, and undoes it', async () => {
  const workspace = await Workspace.inMemory({ 'src/a.py': 'x = 1\ny = 2\n' })
  const session = workspace.session('agent-1')
  assert.deepEqual([session.name, session.workspace, workspace.roots], ['agent-1', workspace, ['/']])
  await assert.rejects(session.edit('src/a.py', 'y = 2', 'y = 3'), errors.ReadError)
  const read = await session.read('src/a.py')
  assert.deepEqual([read.text, read.start, read.end, read.totalLines, read.isComplete], ['x = 1\ny = 2\n', 1, 2, 2, true])
  const done = await session.edit('src/a.py', 'y = 2', 'y = 3', { diff: true })
  const [file] = done.files
  assert.deepEqual([file.path, file.kind, file.added, done.tier], ['/src/a.py', 'updated', 1, 'exact'])
  assert.match(done.diff, /^\+y = 3$/m)
  assert.deepEqual(file.byteSpans, [{ start: 10, end: 11, newStart: 10, newEnd: 11 }])
  assert.equal(await workspace.readText('src/a.py'), 'x = 1\ny = 3\n')
  const undone = await session.undo()
  assert.deepEqual([undone.undone, undone.change.files[0].kind], [[done.operation], 'updated'])
  await session.undo(undefined, { redo: true })
  assert.deepEqual(workspace.files(), { '/src/a.py': Buffer.from('x = 1\ny = 3\n') })
  assert.equal((await session.read('src/a.py', { start: 2, end: 2 })).text, 'y = 3\n')
})

test('every parameter that advice names is declared', async () => {
  const { native } = await import(packaged('loader.js'))
  const all = await declarations()
  const methods = all.match(/class Session \{[^]*?\n}/)[0]
  const part = (from, pattern) => from.match(new RegExp(pattern))?.[0] ?? ''
  const rows = JSON.parse(native.sessionParameters())
  assert.ok(rows.some(([method, name]) => method === 'write' && name === 'createNew'))
  for (const [method, name] of rows) {
    const declared = method === 'TextEdit' ? part(all, 'interface TextEdit [^]*?\\n}') : part(methods, `\\n  ${method}\\([^]*?\\): `)
    assert.ok(declares(all, declared, name), `${method} has no ${name}`)
  }
  const functions = JSON.parse(native.names('functionParameters')).ok
  assert.ok(functions.some(([name, parameter]) => name === 'edit' && parameter === 'replacement'))
  for (const [name, parameter] of functions) {
    const declared = part(all, `declare function ${name}\\([^]*?\\): `)
    assert.ok(declares(all, declared, parameter), `${name} has no ${parameter}`)
  }
  // What the test compares is not always true.
  assert.ok(!declares(all, part(methods, '\\n  write\\([^]*?\\): '), 'overwrite'))
})

test('advice is a call that works', async () => {
  const workspace = await Workspace.inMemory({ 'a.js': 'x = 1\ny = 2\nx = 1\n', 'b.js': 'y = 2\n' })
  const session = workspace.session()
  await session.read('a.js')
  const advised = async (call, start) => {
    const error = await call.catch(error => error)
    const codes = [...error.next.matchAll(/`([^`]*)`/g)].map(([, code]) => code).filter(code => code.startsWith(start))
    assert.equal(codes.length, 1, error.next)
    return codes[0]
  }
  const names = { session, path: 'a.js', old: 'x = 1', replacement: 'x = 2' }
  const run = code => new Function(...Object.keys(names), `return ${code}`)(...Object.values(names))
  await run(await advised(session.edit('b.js', 'y = 2', 'y = 3'), 'session.read('))
  await session.edit('b.js', 'y = 2', 'y = 3')
  assert.equal(await advised(session.edit('a.js', 'x = 1', 'z'), 'replaceAll'), 'replaceAll: true')
  await run(await advised(session.edit('a.js', 'x = 1', 'x = 2'), 'session.multiEdit('))
  assert.equal(await workspace.readText('a.js'), 'x = 2\ny = 2\nx = 1\n')
  const created = await advised(session.write('a.js', 'z\n', { createNew: true }), 'createNew')
  await run(`session.write(path, "z\\n", { ${created} })`)
  assert.ok((await run(await advised(workspace.session().undo(), 'session.call('))).ok)
})

test('several edits, patches of several files, and partial ones', async () => {
  const workspace = await Workspace.inMemory(new Map([['a.py', 'a\nb\n'], ['b.py', Buffer.from('b\n')]]))
  const session = workspace.session(undefined, { unread: 'allow' })
  await session.multiEdit('a.py', [['a', 'A'], { old: 'b', new: 'B', replaceAll: true }])
  assert.equal(await workspace.readText('a.py'), 'A\nB\n')
  const patch =
    '*** Begin Patch\n*** Update File: a.py\n*** Move to: c.py\n@@\n-A\n+AA\n*** Add File: d.py\n+d\n' +
    '*** Delete File: b.py\n*** End Patch\n'
  const planned = await session.apply(patch, { dryRun: true })
  assert.deepEqual([planned.dryRun, planned.operation], [true, null])
  const done = await session.apply(patch)
  assert.deepEqual(
    done.files.map(({ path, kind, fromPath }) => [path, kind, fromPath]).sort(),
    [['/b.py', 'deleted', null], ['/c.py', 'moved', '/a.py'], ['/d.py', 'created', null]],
  )
  await session.undo(done.operation)
  const partial = await session.multiEdit('a.py', [['A', 'one'], ['nothing', 'x']], { partial: true })
  assert.ok(partial.files[0].failed[0] instanceof errors.MatchError)
  assert.ok(partial.rejected.includes('nothing'))
})

test('files on disk, a URL as path, and a history that outlives the process', async () => {
  const directory = await temporary()
  const [files, state] = [join(directory, 'files'), join(directory, 'state')]
  await mkdir(files)
  await writeFile(join(files, 'a b.txt'), 'one\r\ntwo\n')
  const program = `
    import { Workspace } from 'emendate'
    const workspace = await Workspace.open(${JSON.stringify(files)}, { state: ${JSON.stringify(state)} })
    const session = workspace.session('agent')
    await session.read('a b.txt')
    await session.edit('a b.txt', 'one', 'uno')`
  execFileSync(process.execPath, ['--input-type=module', '--eval', program])
  assert.equal(await readFile(join(files, 'a b.txt'), 'utf8'), 'uno\r\ntwo\n')
  const workspace = await Workspace.open(pathToFileURL(files), { state })
  await workspace.session('agent').undo()
  const url = pathToFileURL(join(files, 'a b.txt'))
  assert.deepEqual([await workspace.readText(url), await workspace.readBytes('gone')], ['one\r\ntwo\n', null])
  await workspace.close()
})

test('calls of a session keep their order, however many are made at once', async () => {
  const workspace = await Workspace.inMemory({ 'a.txt': '<0>\n' })
  await workspace.session('agent').read('a.txt')
  const calls = Array.from({ length: 40 }, (_, n) => {
    const edited = workspace.session('agent').edit('a.txt', `<${n}>`, `<${n + 1}>`)
    return [edited, workspace.session('agent').read('a.txt'), workspace.session('agent').read('a.txt')]
  })
  const failing = workspace.session('agent').edit('a.txt', 'nothing', 'x')
  const last = workspace.session('agent').undo()
  for (const [n, [, ...reads]] of calls.entries()) {
    for (const read of reads) assert.equal((await read).text, `<${n + 1}>\n`)
  }
  await assert.rejects(failing, errors.MatchError)
  await last
  assert.equal(await workspace.readText('a.txt'), '<39>\n')
})

test('text that is not UTF-8 is reported', async () => {
  const workspace = await Workspace.inMemory({ 'a.txt': new Uint8Array([0xff, 0x41]), 'b.txt': '\ufeffb\n' })
  await assert.rejects(workspace.readText('a.txt'), { code: 'content.undecodable' })
  assert.equal(await workspace.readText('b.txt'), '\ufeffb\n')
})

test('a file that others changed is merged or refused', async () => {
  const directory = await temporary()
  const file = join(directory, 'a.txt')
  await writeFile(file, 'a\nb\nc\nd\ne\n')
  const session = (await Workspace.open(directory)).session()
  await session.read('a.txt')
  await writeFile(file, 'a\nb\nc\nd\nE\n')
  assert.ok((await session.edit('a.txt', 'a', 'A')).files[0].merged)
  await session.read('a.txt')
  await writeFile(file, 'A\nb\nc\nd\ne\n')
  await assert.rejects(session.edit('a.txt', 'A', 'a', { onStale: 'reject' }), errors.StaleError)
})

test('questions wait for a person', async () => {
  const workspace = await Workspace.inMemory({ 'a.toml': 'a = 1\n', 'secret.txt': 's\n' }, { config: ASKING })
  const session = workspace.session('agent', { unread: 'allow' })
  const error = await session.edit('a.toml', '1', '2').catch(error => error)
  assert.ok(error instanceof errors.AccessError)
  const { seal } = error.data.question
  await assert.rejects(session.denied(seal, 'not today').edit('a.toml', '1', '2'), /not today/)
  await session.approved(seal).edit('a.toml', '1', '2')
  const input = { file_path: '/a.toml', old_string: '2', new_string: '3' }
  const reply = await session.call('edit', input)
  assert.deepEqual([reply.ok, reply.code], [false, 'access.ask'])
  const approved = session.approved(reply.question.seal, { '/a.toml': 'a = 4\n' })
  assert.ok((await approved.call('edit', input)).ok)
  assert.equal(await workspace.readText('a.toml'), 'a = 4\n')
  await assert.rejects(workspace.readBytes('secret.txt'), errors.AccessError)
})

test('tools have schemas and can be called', async () => {
  const workspace = await Workspace.inMemory({ 'a.py': 'x = 1\n' })
  for (const profile of Object.keys(profiles())) {
    assert.ok(instructions(profile).length <= 512)
    for (const tool of workspace.session().tools(profile)) {
      assert.ok(tool.inputSchema.type === 'object' && tool.description && tool.title, tool.name)
    }
  }
  const tools = Object.fromEntries(workspace.session().tools('claude').map(tool => [tool.name, tool]))
  assert.ok(tools.Read.readOnly && !tools.Edit.readOnly)
  const input = { file_path: '/a.py', old_string: 'x = 1', new_string: 'x = 2' }
  const refused = await tools.Edit.call(input)
  assert.ok(refused instanceof Reply)
  assert.deepEqual([refused.ok, refused.code, refused.retryable], [false, 'read.required', true])
  assert.ok(refused.text.includes(refused.error.next))
  assert.ok(`${await tools.Read.call({ file_path: '/a.py' })}`.includes('x = 1'))
  assert.ok((await tools.Edit.call(JSON.stringify(input))).ok)
  assert.equal(await workspace.readText('a.py'), 'x = 2\n')
})

test('a profile has no other tools', async () => {
  const workspace = await Workspace.inMemory({ 'a.py': 'x = 1\n' })
  const session = workspace.session('agent', { unread: 'allow' })
  const refused = await session.call('write', { file_path: '/a.py', content: 'gone\n' }, { profile: 'aider' })
  assert.deepEqual([refused.code, refused.error.next], ['call.unknown_tool', 'Use one of: read, search, edit, undo.'])
  assert.equal(await workspace.readText('a.py'), 'x = 1\n')
})

test('what a model sends never rejects', async () => {
  const session = (await Workspace.inMemory({ 'a.py': 'x = 1\n' })).session()
  assert.equal((await session.call('edit', '{broken')).code, 'call.invalid')
  assert.equal((await session.call('Edit', '['.repeat(100_000), { profile: 'claude' })).code, 'call.invalid')
  assert.equal((await session.call('nothing', {})).code, 'call.unknown_tool')
  assert.equal((await session.call('edit', '{"a": "\ud800"}')).code, 'call.invalid')
  assert.equal((await session.call('edit', { file_path: '\udc00' })).code, 'call.invalid')
  let nested = []
  for (let level = 0; level < 20_000; level += 1) nested = [nested]
  const deep = await session.call('edit', { file_path: nested })
  assert.deepEqual([deep.ok, deep.code, deep.text.includes('nested too deeply')], [false, 'call.invalid', true])
})

test('options with other names, and what is no object, are refused with the names of the options', async () => {
  const workspace = await Workspace.inMemory({ 'a.py': 'x\n' })
  const session = workspace.session('agent', { unread: 'allow' })
  const calls = [
    [options => Workspace.open('/', options), /state, config/],
    [options => Workspace.inMemory({}, options), /config/],
    [async options => workspace.session('a', options), /unread, onStale/],
    [options => session.read('a.py', options), /start, end/],
    [options => session.edit('a.py', 'x', 'y', options), /replaceAll, tag/],
    [options => session.multiEdit('a.py', [['x', 'y']], options), /tag, encoding/],
    [options => session.write('a.py', 'y', options), /createNew, tag/],
    [options => session.apply('x', options), /format, directory/],
    [options => session.undo(undefined, options), /path, last/],
    [options => session.call('read', { file_path: '/a.py' }, options), /profile, signal/],
  ]
  for (const [call, names] of calls) {
    for (const options of [{ fromat: 'x' }, 'x', 5, true, ['x'], () => {}]) {
      const error = await call(options).catch(error => error)
      assert.deepEqual([error.code, names.test(error.next)], ['call.invalid', true], `${call} ${options}: ${error}`)
    }
  }
  assert.equal(await workspace.readText('a.py'), 'x\n')
  await session.edit('a.py', 'x', 'y', { dryRun: null, tag: null })
  await workspace.session('agent', { unread: 'allow', dryRun: null }).edit('a.py', 'y', 'z', null)
  assert.equal(await workspace.readText('a.py'), 'z\n')
})

test('mistakes of a program are refused', async () => {
  const workspace = await Workspace.inMemory({ 'a.py': 'x\n' })
  const session = workspace.session()
  const invalid = [
    () => session.edit('a.py', 'x', 'y', { matc: 'exact' }),
    () => session.edit('a.py', 'x', 'y', { onStale: 'perhaps' }),
    () => session.edit('a.py', 'x', 'y', { tag: 'no tag' }),
    () => session.multiEdit('a.py', []),
    () => session.undo('nothing'),
    () => workspace.session('a', { unread: 'perhaps' }).read('a.py'),
    () => Workspace.open([]),
    () => Workspace.open('/', { config: '[nonsense' }),
    async () => session.tools('nothing'),
    async () => session.tools(null),
    async () => instructions('nothing'),
    async () => instructions(null),
    () => workspace.readBytes(),
    () => session.read(5),
    () => session.call(null, {}),
    () => Workspace.open(),
  ]
  for (const call of invalid) await assert.rejects(call, { code: 'call.invalid' }, String(call))
  await assert.rejects(Workspace.open('/nothing/here'), errors.EmendError)
  await assert.rejects(Workspace.inMemory({ '../a': 'x' }), errors.EmendError)
  assert.throws(() => new Workspace(), TypeError)
  assert.throws(() => new Session(), TypeError)
})

test('calls at the same time do not disturb each other', async () => {
  const names = Array.from({ length: 16 }, (_, nth) => `${nth}.txt`)
  const workspace = await Workspace.inMemory(Object.fromEntries(names.map(name => [name, 'a\n'.repeat(500)])))
  await Promise.all(
    names.map(async name => {
      const session = workspace.session(name)
      for (let turn = 0; turn < 10; turn += 1) {
        await session.read(name)
        const [old, replacement] = turn % 2 === 0 ? ['a', 'b'] : ['b', 'a']
        await session.edit(name, old, replacement, { replaceAll: true })
      }
    }),
  )
  for (const content of Object.values(workspace.files())) assert.equal(content.toString(), 'a\n'.repeat(500))
})

test('a signal stops a call before it writes, or not at all', async () => {
  const directory = await temporary()
  for (let nth = 0; nth < 1000; nth += 1) await writeFile(join(directory, `${nth}.txt`), 'one\n'.repeat(50))
  const session = (await Workspace.open(directory)).session('agent', { unread: 'allow' })
  const change = { path: directory, old_string: 'one', new_string: 'two' }
  const aborted = { signal: AbortSignal.abort('early') }
  const error = await session.call('replace_in_files', change, aborted).catch(error => error)
  assert.deepEqual([error.name, error.code, error.cause], ['AbortError', 'call.cancelled', 'early'])
  await assert.rejects(session.withSignal(AbortSignal.abort()).edit('0.txt', 'one', 'x'), { name: 'AbortError' })

  const controller = new AbortController()
  const call = session.withSignal(controller.signal).call('replace_in_files', change)
  setTimeout(() => controller.abort(), 2)
  const outcome = await call.catch(error => error)
  const names = await readdir(directory)
  const contents = new Set(await Promise.all(names.map(name => readFile(join(directory, name), 'utf8'))))
  assert.equal(contents.size, 1)
  const expected = outcome.name === 'AbortError' ? 'one\n' : 'two\n'
  assert.deepEqual([...contents], [expected.repeat(50)])
})

test('the module works in worker threads', async () => {
  const program = `
    import { Workspace } from ${JSON.stringify(import.meta.resolve('emendate'))}
    import { parentPort } from 'node:worker_threads'
    const workspace = await Workspace.inMemory({ 'a.txt': 'one\\n' })
    await workspace.session('a', { unread: 'allow' }).edit('a.txt', 'one', 'two')
    parentPort.postMessage(await workspace.readText('a.txt'))`
  const started = Array.from({ length: 3 }, () => new Worker(new URL(`data:text/javascript,${encodeURIComponent(program)}`)))
  const said = started.map(worker => new Promise((resolve, reject) => worker.once('message', resolve).once('error', reject)))
  assert.deepEqual(await Promise.all(said), ['two\n', 'two\n', 'two\n'])
})
