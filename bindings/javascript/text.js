// The functions on text, over a function that calls the engine with JSON. Both packages have a copy of this file.
import { ContentError, errorOf } from './errors.js'

/** Returns the value of an envelope, or throws its error. */
export function opened(envelope) {
  const result = JSON.parse(envelope)
  if ('error' in result) throw errorOf(result.error)
  return result.ok
}

/** Formats the input of a call. */
export function encoded(input) {
  try {
    requireWellFormed(input)
    return JSON.stringify(input)
  } catch (error) {
    throw error instanceof RangeError ? errorOf(tooDeep) : error
  }
}

/** The parts of the error for a value that is nested too deeply to become JSON. */
export const tooDeep = Object.freeze({
  code: 'call.invalid',
  message: 'The input is nested too deeply.',
  evidence: '',
  next: 'Pass arguments of the types that the declarations of the package list.',
  data: {},
})

/** True for what can have options by name. */
export function isObject(value) {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Options as the engine reads them. What is no object becomes a text, which it refuses. */
export function sent(options) {
  return options === undefined || options === null || isObject(options) ? (options ?? undefined) : String(options)
}

/** Refuses a string with half of a surrogate pair, which would change on its way, anywhere in a value. */
export function requireWellFormed(value) {
  if (typeof value === 'string') {
    if (!value.isWellFormed()) {
      throw new ContentError(
        'content.unencodable',
        'A string has half of a surrogate pair, which no file in UTF-8 can contain.',
        '',
        'Pass a string that is well-formed: `text.toWellFormed()` replaces such halves.',
      )
    }
  } else if (value !== null && typeof value === 'object') {
    for (const [name, part] of Object.entries(value)) {
      requireWellFormed(name)
      requireWellFormed(part)
    }
  }
}

/** Returns files as an object, from an object or a `Map`. */
export function entries(files) {
  return files instanceof Map ? Object.fromEntries(files) : files
}

/** The outcome of a patch of several files. */
export class AppliedFiles {
  constructor({ format, files, notes }) {
    this.format = format
    this.files = files
    this.notes = notes
  }

  /** Returns a copy of the given files with the changes. */
  after(files) {
    const all = new Map(Object.entries(entries(files)))
    const changes = Object.entries(this.files)
    // All former paths are freed first, because files may swap their paths.
    for (const [path, { kind, fromPath }] of changes) {
      if (kind === 'deleted') all.delete(path)
      if (kind === 'renamed') all.delete(fromPath)
    }
    for (const [path, { text }] of changes) {
      if (text !== null) all.set(path, text)
    }
    return Object.fromEntries(all)
  }
}

/** The difference between two texts. */
export class TextDiff {
  #print

  constructor({ spans, added, removed }, print) {
    this.spans = spans
    this.added = added
    this.removed = removed
    this.#print = print
  }

  /** True for equal texts. */
  get isEmpty() {
    return this.spans.length === 0
  }

  /** Formats the difference as a unified diff for people; empty for equal texts. */
  unified(path) {
    return this.#print(path, null)
  }

  /** Prints the difference as a patch in one of `printFormats()`. */
  toPatch(path, format) {
    return this.#print(path, format)
  }
}

const same = value => value

/** Makes the functions. `call(name, input, options, shape)` returns the shaped value, or a promise of it. */
export function textFunctions(call) {
  return {
    apply: (text, patch, options) => call('apply', { text, patch }, options, same),
    applyFiles: (files, patch, options) =>
      call('applyFiles', { files: entries(files), patch }, options, value => new AppliedFiles(value)),
    edit: (text, old, replacement, options) => call('edit', { text, old, new: replacement }, options, same),
    diff: (before, after, options) =>
      call(
        'diff',
        { before, after },
        options,
        value => new TextDiff(value, (path, format) => call('patchOf', { before, after, path, format }, {}, same)),
      ),
    convert: (files, patch, to, options) =>
      call('convert', { files: entries(files), patch, to }, options, same),
    similarity: (a, b, options) => call('similarity', { a, b }, options, same),
  }
}
