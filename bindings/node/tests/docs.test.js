// The programs of docs/node.md run, and the declarations name exactly what the package has.
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { readFile, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import test from 'node:test'
import * as emendate from 'emendate'

const require = createRequire(import.meta.url)
const page = await readFile(join(process.env.EMEND_REPOSITORY, 'docs/node.md'), 'utf8')
// Those of the other package run in its own tests.
const programs = [...page.matchAll(/^```js\n(.*?)^```$/gms)].map(([, program]) => program)

for (const [nth, program] of programs.filter(program => !program.includes('@emendate/core')).entries()) {
  test(`program ${nth + 1} of the page runs`, async () => {
    await writeFile('program.js', program)
    const done = spawnSync(process.execPath, ['program.js'], { encoding: 'utf8' })
    assert.equal(done.status, 0, done.stderr)
  })
}

test('the declarations name exactly what the package has', async () => {
  const types = await readFile(join(require.resolve('emendate/package.json'), '../index.d.ts'), 'utf8')
  const declared = [...types.matchAll(/^export declare (?:function|class) (\w+)/gm)].map(([, name]) => name)
  const exported = [...types.matchAll(/^export \{ (\w+) \}|^export \* as (\w+)/gm)].map(([, a, b]) => a ?? b)
  assert.deepEqual(Object.keys(emendate).sort(), [...declared, ...exported].sort())
  for (const name of ['Workspace', 'Session', 'Reply']) {
    const [, body] = types.match(new RegExp(`^export declare class ${name} \\{\\n(.*?)^\\}`, 'ms'))
    const methods = [...body.matchAll(/^  (?!static|private)(?:readonly )?(\w+)[(:]/gm)].map(([, method]) => method)
    const own = Object.getOwnPropertyNames(emendate[name].prototype).filter(method => method !== 'constructor')
    for (const method of own) assert.ok(methods.includes(method), `${name}.${method} is not declared`)
  }
})
