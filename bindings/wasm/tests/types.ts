// Uses every function; `tsc` checks it against the declarations.
import { AppliedFiles, EmendError, errors, load, loadSync, type Applied, type Core, type Tier } from '@emendate/core'

const core: Core = await load()
const edited: Applied = core.edit('a', 'a', 'b', { replaceAll: true, match: 'strict', maxSteps: 10, path: 'a.txt' })
const tier: Tier = edited.tier
const first: number = edited.spans[0]!.newEnd
const moved: string | null = core.apply('a', 'patch', { format: 'unified_diff', reverse: true, strip: 1 }).newPath
const files: AppliedFiles = core.applyFiles(new Map([['a', 'b']]), 'patch', { overwrite: true })
const after: Record<string, string> = files.after({ a: 'b' })
const kind: 'created' | 'updated' | 'deleted' | 'renamed' | 'copied' = files.files['a']!.kind
const patch: string = core.diff('a', 'b').toPatch('a', core.printFormats()[0]!) + core.diff('a', 'b').unified('a')
const converted: string = core.convert({ a: 'b' }, 'patch', 'unified_diff', { format: core.textFormats()[0]! }).fromFormat
const ratio: number = core.similarity('a', 'b', { by: 'lines' })
loadSync(new Uint8Array()).edit('a', 'a', 'b')
try {
  core.edit('a', 'b', 'c')
} catch (error) {
  if (error instanceof errors.MatchError || error instanceof EmendError) {
    const parts: string[] = [error.code, error.message, error.evidence, error.next, error.remedy]
    console.log(parts, error.retryable, error.data['candidates'])
  }
}
console.log(tier, first, moved, after, kind, patch, converted, ratio)

// @ts-expect-error: `edit` has no such option.
core.edit('a', 'a', 'b', { reverse: true })
// @ts-expect-error: the outcome cannot be changed.
edited.text = ''
