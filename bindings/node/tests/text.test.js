// Functions on text: results, errors, threads, signals.
import assert from 'node:assert/strict'
import test from 'node:test'
import * as emendate from 'emendate'
import { AppliedFiles, EmendError, TextDiff, errors } from 'emendate'

const TEXT = 'fn main() {\n    run(1);\n    stop();\n}\n'

test('an edit reports its tolerance, and its spans fit the strings', async () => {
  const edited = await emendate.edit(TEXT, 'run(1);\nstop();', 'run(2);\nstop();')
  assert.equal(edited.text, TEXT.replace('run(1)', 'run(2)'))
  assert.deepEqual([edited.tier, edited.added, edited.removed, edited.edits, edited.places], ['indent_shift', 1, 1, 1, 1])
  const [span] = edited.spans
  assert.equal(TEXT.slice(span.start, span.end), '1')
  const wide = await emendate.edit('é 😀 one two\n', 'one', '😀')
  assert.equal('é 😀 one two\n'.slice(wide.spans[0].start, wide.spans[0].end), 'one')
})

test('files change together or not at all', async () => {
  const files = { 'main.rs': TEXT, 'b.rs': 'b\n' }
  const patch =
    '*** Begin Patch\n*** Update File: main.rs\n*** Move to: app.rs\n@@\n-    stop();\n' +
    '*** Delete File: b.rs\n*** Add File: c.rs\n+c\n*** End Patch\n'
  const applied = await emendate.applyFiles(files, patch)
  assert.ok(applied instanceof AppliedFiles)
  assert.deepEqual(applied.after(files), { 'app.rs': TEXT.replace('    stop();\n', ''), 'c.rs': 'c\n' })
  assert.deepEqual(applied.after(new Map(Object.entries(files))), applied.after(files))
  await assert.rejects(emendate.applyFiles(files, patch.replace('    stop', '    halt')), errors.MatchError)
})

test('a difference prints as a patch', async () => {
  const after = TEXT.replace('run(1)', 'run(2)')
  const diff = await emendate.diff(TEXT, after)
  assert.ok(diff instanceof TextDiff && !diff.isEmpty)
  const patch = await diff.toPatch('main.rs', 'search_replace')
  assert.equal((await emendate.apply(TEXT, patch, { path: 'main.rs' })).text, after)
  assert.match(await diff.unified('main.rs'), /^\+    run\(2\);$/m)
  assert.equal((await emendate.convert({ 'main.rs': TEXT }, patch, 'unified_diff')).fromFormat, 'search_replace')
  await assert.rejects((await emendate.diff('a', 'a')).toPatch('x', 'unified_diff'), { code: 'edit.no_change' })
  assert.equal(await emendate.similarity('abcd', 'bcde'), 0.75)
  assert.ok(emendate.textFormats().includes('search_replace') && emendate.printFormats().includes('unified_diff'))
})

test('errors have classes and fields', async () => {
  const error = await emendate.edit('a\nb\n', 'walk(1)', 'run(1)').catch(error => error)
  assert.ok(error instanceof EmendError && error instanceof errors.MatchError && error instanceof Error)
  assert.deepEqual(
    [error.name, error.code, error.retryable, error.remedy],
    ['MatchError', 'match.not_found', false, 'correct the call'],
  )
  assert.ok(String(error).includes(error.message) && String(error).includes(error.next))
})

/** Lists in lists. */
function nested(depth) {
  let value = []
  for (let level = 1; level < depth; level += 1) value = [value]
  return value
}

test('options with other names, and what is no object, are refused with the names of the options', async () => {
  const calls = [
    [options => emendate.apply('a', 'b', options), /format, path/],
    [options => emendate.applyFiles({}, 'b', options), /overwrite/],
    [options => emendate.edit('a', 'a', 'b', options), /replaceAll/],
    [options => emendate.convert({}, 'a', 'unified_diff', options), /strip/],
    [options => emendate.similarity('a', 'b', options), /by/],
    [options => emendate.diff('a', 'b', options), /no options/],
  ]
  for (const [call, names] of calls) {
    for (const options of [{ fromat: 'unified_diff' }, 'unified_diff', 5, true, ['format'], () => {}]) {
      const error = await call(options).catch(error => error)
      assert.deepEqual([error.code, names.test(error.next)], ['call.invalid', true], `${call} ${options}: ${error}`)
    }
  }
  assert.equal((await emendate.edit('a', 'a', 'b', null)).text, 'b')
  assert.equal((await emendate.edit('a', 'a', 'b', { replaceAll: null })).text, 'b')
  assert.equal(await emendate.similarity('a\nb\n', 'a\nc\n', { by: 'lines' }), 0.5)
})

test('mistakes of a program are refused', async () => {
  for (const call of [
    // Functions: a promise that fails before the test waits for it ends the test.
    () => emendate.edit('a', 'a', 'b', { matc: 'exact' }),
    () => emendate.edit('a', 'a', 'b', { match: 'loose' }),
    () => emendate.edit(1, 'a', 'b'),
    () => emendate.apply('a', 'b', { format: 'nonsense' }),
    () => emendate.edit(nested(20_000), 'a', 'b'),
  ]) {
    await assert.rejects(call, { code: 'call.invalid' })
  }
  await assert.rejects(emendate.edit('\ud800a', 'a', 'b'), { code: 'content.unencodable' })
  await assert.rejects(emendate.edit('a'.repeat(100), 'a', 'b', { maxBytes: 10 }), { code: 'call.too_large' })
  await assert.rejects(emendate.edit('x = 1\n'.repeat(10_000), 'y = 1\n', 'b', { maxSteps: 10 }), { code: 'call.too_much_work' })
})

/** A text of pseudo-random letters. */
function letters(count, seed) {
  let out = ''
  for (let at = 0; at < count; at += 1) {
    seed = (seed * 1103515245 + 12345) % 2147483648
    out += 'abcd\n'[Math.floor((seed / 2147483648) * 5)]
  }
  return out
}

test('the event loop runs during a call, and a signal stops it', async () => {
  const [a, b] = [letters(300_000, 1), letters(300_000, 2)]
  let ticks = 0
  const timer = setInterval(() => (ticks += 1), 1)
  await emendate.similarity(a, b)
  clearInterval(timer)
  assert.ok(ticks >= 3, `${ticks} ticks`)

  const controller = new AbortController()
  const reason = new Error('no longer wanted')
  const call = emendate.similarity(a, b, { signal: controller.signal })
  setTimeout(() => controller.abort(reason), 1)
  const error = await call.catch(error => error)
  assert.deepEqual([error.name, error.code, error.cause], ['AbortError', 'call.cancelled', reason])
  assert.ok(error instanceof errors.CallError)
  await assert.rejects(emendate.edit('a', 'a', 'b', { signal: AbortSignal.abort() }), { name: 'AbortError' })
})
