// Patches that adapters build from what a model sent, each for its own files and for no other.
import { isAbsolute, join } from 'node:path'
import { CallError, FileError } from '../errors.js'
import { native } from '../loader.js'
import { encoded, opened } from '../text.js'

export const FORMAT = 'apply_patch'

const VERBS = { create_file: 'Add', update_file: 'Update', delete_file: 'Delete' }

/** Throws for what a cut-off call of a model may have, and no file: half of a character. */
export function requireWhole(...texts) {
  if (texts.every(text => typeof text !== 'string' || text.isWellFormed())) return
  throw new CallError(
    'call.invalid',
    'The text has half of a character (a lone surrogate, such as \\ud83d).',
    '',
    'Send the whole character, or leave it out.',
  )
}

/** A name of which no directory is taken for a prefix such as `a/` of git. */
const whole = path => (/^\w\//.test(path) ? `./${path}` : path)

/** A name as a header has it: in quotes if the parser would take a part of it for what models put around names. */
function inHeader(path) {
  const name = whole(path)
  const isQuoted = ['`', "'", '"'].includes(name[0]) && name.at(-1) === name[0]
  if (!isQuoted && !name.endsWith('**')) return name
  const quote = ['`', "'"].find(sign => !name.includes(sign)) ?? ''
  return quote + name + quote
}

function lines({ verb, path, to, body }) {
  const made = [`*** ${verb} File: ${inHeader(path)}`]
  if (to) made.push(`*** Move to: ${inHeader(to)}`)
  if (body) made.push(body.replace(/\n$/, ''))
  return made
}

/**
 * The text of a patch.
 *
 * Throws if it would change another file than its sections name: the text is read by the parser that applies it, which
 * takes lines of a body for headers, and ends a name where its line and its quotes end.
 */
export async function patchOf(sections) {
  requireWhole(...sections.flatMap(({ path, to, body }) => [path, to ?? '', body ?? '']))
  const patch = ['*** Begin Patch', ...sections.flatMap(lines), '*** End Patch', ''].join('\n')
  const named = new Set(sections.flatMap(({ path, to }) => (to ? [path, to] : [path])).map(whole))
  const found = opened(await native.callText('namedFiles', encoded({ patch, format: FORMAT }), null))
  const others = found.filter(name => !named.has(name))
  if (others.length === 0) return patch
  const shown = names => [...names].map(name => JSON.stringify(name)).join(', ')
  throw new CallError(
    'call.invalid',
    `A patch for ${shown(named)} would change ${shown(others)}. Nothing was written.`,
    '',
    'Send one operation for each file, with the lines of its change alone; and a path without quotes, control ' +
      'characters, and blanks at its ends.',
  )
}

/**
 * The patch of one operation of a model, whose `diff` is only its body.
 *
 * Throws if it names another file than the operation, which is all that a program knows of it; and if there is no such
 * file, because a patch would also find one whose name is written in another way.
 */
export async function operationPatch(session, { type, path, diff, moveTo }) {
  const body = type === 'delete_file' ? undefined : diff
  const patch = await patchOf([{ verb: VERBS[type], path, to: moveTo, body }])
  if (type === 'create_file') return patch
  // If the file cannot be read, the patch is refused for the same reason, or edits what programs cannot read.
  // Relative names begin at the directory of the session, if it has one, or else at that of the workspace.
  const full = session.directory === null || isAbsolute(path) ? path : join(session.directory, path)
  const isThere = await session.workspace.readBytes(full).then(
    content => content !== null,
    error => error.code !== 'file.not_found',
  )
  if (isThere) return patch
  throw new FileError('file.not_found', 'File does not exist.', path, 'Check the path.')
}
