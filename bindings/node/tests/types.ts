// Uses every call; `tsc` checks it against the declarations.
import {
  EmendError,
  Reply,
  Session,
  TextDiff,
  Workspace,
  apply,
  applyFiles,
  convert,
  diff,
  edit,
  errors,
  instructions,
  printFormats,
  profiles,
  similarity,
  textFormats,
  type ChangeOutcome,
  type Tier,
  type Tool,
} from 'emendate'

const { signal } = new AbortController()
const tier: Tier = (await edit('a', 'a', 'b', { replaceAll: true, match: 'strict', signal })).tier
const moved: string | null = (await apply('a', 'patch', { reverse: true, strip: 1 })).newPath
const after: Record<string, string> = (await applyFiles({ a: 'b' }, 'patch', { overwrite: true })).after(new Map())
const difference: TextDiff = await diff('a', 'b')
const patch: string = (await difference.toPatch('a', printFormats()[0]!)) + (await difference.unified('a'))
const converted: string = (await convert({ a: 'b' }, 'patch', 'unified_diff', { format: textFormats()[0]! })).format
const ratio: number = await similarity('a', 'b', { by: 'lines', signal })
const known: string = instructions(Object.keys(profiles())[0])

const disk: Workspace = await Workspace.open(['/a', new URL('file:///b')], { state: '/state', config: '' })
const memory: Workspace = await Workspace.inMemory({ 'a.txt': 'one', 'b.bin': new Uint8Array() })
const session: Session = disk.session('agent', { unread: 'allow', onStale: 'reject', directory: '/a', dryRun: true })
const lines: number = (await session.read('a', { start: 1, end: 2, signal })).totalLines
const done: ChangeOutcome = await session.edit('a', 'b', 'c', { replaceAll: true, partial: true, tag: 'x', diff: true })
const failed: readonly EmendError[] = done.files[0]!.failed
await session.multiEdit('a', [['a', 'b'], { old: 'a', new: 'b', expected: 2 }], { allowInvalid: true, repeat: true })
await session.write('a', 'text', { createNew: true, encoding: 'latin1', irreversible: true })
await session.apply('patch', { format: 'unified_diff', file: 'a', directory: '/a', strip: 1, overwrite: true })
const undone: readonly string[] = (await session.undo('1-abcd', { last: 2, redo: true, anySession: true })).undone
const reply: Reply = await session.withSignal(signal).planning().call('edit', { a: 1 }, { profile: 'claude' })
const tool: Tool = session.tools('claude')[0]!
const text: string = (await tool.call('{}', { signal })).text + tool.inputSchema.type
if (reply.question) await session.approved(reply.question.seal, { a: 'b' }).denied('x').call('edit', '{}')
const content: Buffer | null = await memory.readBytes('a')
const files: Record<string, Buffer> = memory.files()
const said: string[] = [...memory.notices(), ...memory.roots, session.name, session.workspace.roots[0]!]
await disk.close()
await memory[Symbol.asyncDispose]()
const stale: boolean = reply.error instanceof errors.StaleError && reply.retryable

// @ts-expect-error: there is no such option.
await session.edit('a', 'b', 'c', { replace_all: true })
// @ts-expect-error: a session comes from a workspace.
new Session()

console.log(tier, moved, after, patch, converted, ratio, known, lines, failed, undone, text, content, files, said, stale)
