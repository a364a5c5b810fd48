// Tests of the installed package in Node.
import assert from 'node:assert/strict'
import { readFile, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import test from 'node:test'
import { pathToFileURL } from 'node:url'
import { Worker } from 'node:worker_threads'
import { AppliedFiles, EmendError, TextDiff, errors, load, loadSync } from '@emendate/core'

const TEXT = 'fn main() {\n    run(1);\n    stop();\n}\n'
const core = await load()

test('an edit reports its tolerance, and its spans fit the strings', () => {
  const edited = core.edit(TEXT, 'run(1);\nstop();', 'run(2);\nstop();')
  assert.equal(edited.text, TEXT.replace('run(1)', 'run(2)'))
  assert.deepEqual([edited.tier, edited.added, edited.removed, edited.notes.length], ['indent_shift', 1, 1, 1])
  const [span] = edited.spans
  assert.equal(TEXT.slice(span.start, span.end), '1')
  assert.equal(edited.text.slice(span.newStart, span.newEnd), '2')
  const wide = core.edit('é 😀 one two\n', 'one', '😀')
  assert.equal('é 😀 one two\n'.slice(wide.spans[0].start, wide.spans[0].end), 'one')
  assert.equal(wide.text.slice(wide.spans[0].newStart, wide.spans[0].newEnd), '😀')
})

test('a reply of a model is applied in any format', () => {
  const reply = 'The fix:\n\n```diff\n@@\n-    run(1);\n+    walk(1);\n```\n'
  const applied = core.apply(TEXT, reply, { path: 'main.rs' })
  assert.deepEqual([applied.format, applied.text], ['unified_diff', TEXT.replace('run', 'walk')])
  assert.equal(core.apply(applied.text, reply, { reverse: true }).text, TEXT)
  assert.ok(core.textFormats().includes('search_replace'))
})

test('files change together or not at all', () => {
  const files = { 'main.rs': TEXT, 'b.rs': 'b\n', ['__proto__.rs']: 'p\n' }
  const patch =
    '*** Begin Patch\n*** Update File: main.rs\n*** Move to: app.rs\n@@\n-    stop();\n' +
    '*** Delete File: b.rs\n*** Add File: c.rs\n+c\n*** End Patch\n'
  for (const given of [files, new Map(Object.entries(files))]) {
    const applied = core.applyFiles(given, patch)
    assert.ok(applied instanceof AppliedFiles)
    assert.deepEqual(
      Object.entries(applied.files).map(([path, file]) => [path, file.kind, file.fromPath]),
      [['app.rs', 'renamed', 'main.rs'], ['b.rs', 'deleted', null], ['c.rs', 'created', null]],
    )
    const expected = { '__proto__.rs': 'p\n', 'app.rs': TEXT.replace('    stop();\n', ''), 'c.rs': 'c\n' }
    assert.deepEqual(applied.after(given), expected)
  }
  assert.throws(() => core.applyFiles(files, patch.replace('    stop', '    halt')), errors.MatchError)
})

test('a difference prints in every format', () => {
  const after = TEXT.replace('run(1)', 'run(2)')
  const diff = core.diff(TEXT, after)
  assert.ok(diff instanceof TextDiff && !diff.isEmpty)
  // Anchors are JSON for a tool, and name lines that only a session knows.
  for (const format of core.printFormats().filter(name => name !== 'anchors')) {
    const patch = diff.toPatch('main.rs', format)
    assert.deepEqual(core.applyFiles({ 'main.rs': TEXT }, patch).after({ 'main.rs': TEXT }), { 'main.rs': after })
    assert.match(core.convert({ 'main.rs': TEXT }, patch, 'unified_diff').text, /^\+    run\(2\);$/m)
  }
  const same = core.diff(TEXT, TEXT)
  assert.ok(same.isEmpty && same.unified('x') === '')
  assert.throws(() => same.toPatch('x', 'unified_diff'), { code: 'edit.no_change' })
  assert.equal(core.similarity('abcd', 'bcde'), 0.75)
  assert.equal(core.similarity('a\nb\n', 'a\nc\n', { by: 'lines' }), 0.5)
})

test('an error says what is wrong, and what works', () => {
  assert.throws(
    () => core.edit('a = 1\n', 'b = 2', 'b = 3'),
    error => {
      assert.ok(error instanceof EmendError && error instanceof errors.MatchError)
      assert.deepEqual([error.name, error.code, error.retryable], ['MatchError', 'match.not_found', false])
      return String(error).includes(error.message) && String(error).includes(error.next)
    },
  )
})

test('mistakes of a program are refused', () => {
  const refused = [
    () => core.edit('a', 'a', 'b', { matc: 'exact' }),
    () => core.edit('a', 'a', 'b', { match: 'loose' }),
    () => core.edit(1, 'a', 'b'),
    () => core.apply('a', 'b', { format: 'nonsense' }),
    () => core.apply('a', 'b', { replaceAll: true }),
    () => core.similarity('a', 'b', { by: 'words' }),
    () => core.similarity('a', 'b', 'lines'),
    () => core.diff('a', 'b', { by: 'lines' }),
  ]
  for (const call of refused) assert.throws(call, { code: 'call.invalid' })
  // Half of a surrogate pair would be changed on its way.
  assert.throws(() => core.edit('\ud800a', 'a', 'b'), { code: 'content.unencodable' })
  assert.throws(() => core.diff('a\0', 'b'), { code: 'content.binary' })
  assert.throws(() => core.edit('a'.repeat(100), 'a', 'b', { maxBytes: 10 }), { code: 'call.too_large' })
  assert.throws(() => core.edit('x = 1\n'.repeat(10_000), 'y = 1\n', 'b', { maxSteps: 10 }), { code: 'call.too_much_work' })
})

test('the module loads from bytes in a worker', async () => {
  const path = createRequire(import.meta.url).resolve('@emendate/core/module.wasm')
  const program = `
    import { loadSync } from '@emendate/core'
    import { parentPort, workerData } from 'node:worker_threads'
    parentPort.postMessage(loadSync(workerData).edit('a\\n', 'a', 'b').text)`
  const module = await WebAssembly.compile(await readFile(path))
  const worker = new Worker(new URL(`data:text/javascript,${encodeURIComponent(program.replace("'@emendate/core'", JSON.stringify(import.meta.resolve('@emendate/core'))))}`), { workerData: module })
  const said = await new Promise((resolve, reject) => worker.once('message', resolve).once('error', reject))
  assert.equal(said, 'b\n')
  assert.equal(loadSync(await readFile(path)).edit('a\n', 'a', 'b').text, 'b\n')
})

test('the programs of the documentation run', async () => {
  const page = await readFile(join(process.env.EMEND_REPOSITORY, 'docs/node.md'), 'utf8')
  const programs = [...page.matchAll(/^```js\n(.*?)^```$/gms)].map(([, program]) => program)
  const own = programs.filter(program => program.includes('@emendate/core'))
  assert.ok(own.length > 0)
  for (const [nth, program] of own.entries()) {
    await writeFile(`program${nth}.mjs`, program)
    await import(pathToFileURL(`program${nth}.mjs`).href)
  }
})
