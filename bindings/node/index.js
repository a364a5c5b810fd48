// emendate: the engine in Node. Calls run on threads of Node's pool and return promises.
import { fileURLToPath } from 'node:url'
import { CallError, ContentError, errorOf } from './errors.js'
import { DECODED_TEXT, FOR_PROFILE, native } from './loader.js'
import { encoded, entries, isObject, opened, requireWellFormed, sent, textFunctions, tooDeep } from './text.js'

export { AppliedFiles, TextDiff } from './text.js'
export { EmendError } from './errors.js'
export * as errors from './errors.js'

/**
 * Runs a native call, which an aborted signal stops: before it writes, or not at all.
 *
 * Throws the error of the call; for one that the signal stopped, named `AbortError` and with the signal's reason as cause.
 */
async function run(start, signal) {
  if (signal === undefined || signal === null) return opened(await start(null))
  const handle = new native.NativeHandle()
  const stop = () => handle.stop()
  if (signal.aborted) stop()
  signal.addEventListener('abort', stop, { once: true })
  try {
    return opened(await start(handle))
  } catch (error) {
    throw aborted(error, signal)
  } finally {
    signal.removeEventListener('abort', stop)
  }
}

/** Marks an error as the effect of a signal, if it is. */
function aborted(error, signal) {
  if (error.code !== 'call.cancelled' || !signal?.aborted) return error
  Object.defineProperty(error, 'name', { value: 'AbortError', configurable: true, writable: true })
  return Object.assign(error, { cause: signal.reason })
}

const functions = textFunctions(async (name, input, given, shape) => {
  const { signal, ...options } = isObject(given) ? given : {}
  const json = encoded({ ...input, options: isObject(given) ? options : sent(given) })
  return shape(await run(handle => native.callText(name, json, handle), signal))
})

export const { apply, applyFiles, convert, diff, edit, similarity } = functions

/** The names of the text formats that `apply` takes. */
export function textFormats() {
  return opened(native.names('textFormats'))
}

/** The names of the formats that `convert` and `toPatch` print. */
export function printFormats() {
  return opened(native.names('printFormats'))
}

/** The profiles: sets of tools for one kind of client, and what each is for. */
export function profiles() {
  return Object.fromEntries(JSON.parse(native.profileRows()).map(({ name, summary }) => [name, summary]))
}

/** The instructions of a profile for a model. */
export function instructions(profile = 'default') {
  const row = JSON.parse(native.profileRows()).find(({ name }) => name === profile)
  if (row === undefined) opened(native.toolRows(String(profile)))
  return row.instructions
}

// Workspaces whose history may still have to be stored when the process ends.
const workspaces = new Set()
const collected = new FinalizationRegistry(reference => workspaces.delete(reference))
process.once('exit', () => {
  for (const reference of workspaces) reference.deref()?.finish()
})

/** Returns a path of a string or of a URL with the scheme `file:`. */
function named(path) {
  if (typeof path === 'string') return path
  if (path instanceof URL) return fileURLToPath(path)
  throw invalid(`A path is ${described(path)}.`, 'Pass a string, or a URL with the scheme file:.')
}

/** Names a value that is of another type than it should be. */
function described(value) {
  return value === null || value === undefined ? String(value) : `of the type ${typeof value}`
}

function invalid(message, next) {
  return new CallError('call.invalid', message, '', next)
}

const CHANGE_OPTIONS = [
  'tag', 'encoding', 'onStale', 'match', 'dryRun', 'partial', 'allowInvalid', 'irreversible', 'repeat', 'diff', 'signal',
]
const SESSION_OPTIONS = ['unread', 'onStale', 'dryRun', 'directory', 'irreversible']
const APPLY_OPTIONS = ['format', 'directory', 'file', 'strip', 'reverse', 'overwrite', ...CHANGE_OPTIONS]
const UNDO_OPTIONS = ['path', 'last', 'redo', 'anySession', 'dryRun', 'irreversible', 'diff', 'signal']

/**
 * Returns the options of a call; those that are null count as not given.
 *
 * Throws `call.invalid` for a name that is not one of `names`, and for what is no object.
 */
function optionsOf(call, given, names) {
  const advice = `Use some of: ${names.join(', ')}.`
  if (given !== undefined && given !== null && !isObject(given)) {
    const what = Array.isArray(given) ? 'an array' : described(given)
    throw invalid(`The options of \`${call}\` are no object, but ${what}.`, advice)
  }
  const options = Object.entries(given ?? {}).filter(([, value]) => value !== undefined && value !== null)
  const unknown = options.find(([name]) => !names.includes(name))
  if (unknown !== undefined) throw invalid(`\`${unknown[0]}\` is not an option of \`${call}\`.`, advice)
  return Object.fromEntries(options)
}

/**
 * The calls of each session in the order in which they were made: a call that may change something runs alone, after all
 * calls before it. Calls that only read run side by side.
 */
class CallQueues {
  #queues = new Map()

  async run(session, reads, work) {
    const queue = this.#queues.get(session) ?? { calls: 0, changed: Promise.resolve(), read: Promise.resolve() }
    this.#queues.set(session, queue)
    queue.calls += 1
    const before = reads ? queue.changed : Promise.all([queue.changed, queue.read])
    const done = before.then(work)
    const ended = done.catch(() => {})
    if (reads) queue.read = Promise.all([queue.read, ended])
    else queue.changed = ended
    try {
      return await done
    } finally {
      queue.calls -= 1
      if (queue.calls === 0) this.#queues.delete(session)
    }
  }
}

/** Files below directories, or in memory, for any number of sessions. */
export class Workspace {
  #native
  #queues = new CallQueues()
  #roots

  constructor(native_, roots) {
    if (!(native_ instanceof native.NativeWorkspace)) {
      throw new TypeError('Use `await Workspace.open(directory)` or `await Workspace.inMemory(files)`.')
    }
    this.#native = native_
    this.#roots = roots
    const reference = new WeakRef(native_)
    workspaces.add(reference)
    collected.register(native_, reference)
  }

  static async #opened(rules, memory) {
    const made = new native.NativeWorkspace()
    const roots = opened(await made.open(encoded(rules), memory))
    return new Workspace(made, roots)
  }

  /** Opens a directory, or several. */
  static async open(roots, options) {
    const { state, config } = optionsOf('Workspace.open', options, ['state', 'config'])
    const all = (Array.isArray(roots) ? roots : [roots]).map(named)
    return Workspace.#opened({ roots: all, state: state === undefined ? undefined : named(state), config })
  }

  /** Opens files in memory, given by path; they are copied. */
  static async inMemory(files = {}, options) {
    const { config } = optionsOf('Workspace.inMemory', options, ['config'])
    const memory = Object.entries(entries(files)).map(([path, content]) => {
      requireWellFormed(path)
      if (typeof content === 'string') requireWellFormed(content)
      return { path, content: Buffer.from(content) }
    })
    return Workspace.#opened({ roots: [], config }, memory)
  }

  get roots() {
    return [...this.#roots]
  }

  notices() {
    return this.#native.notices()
  }

  async readBytes(path) {
    const read = await this.#native.readBytes(named(path))
    return typeof read === 'string' ? opened(read) : read
  }

  async readText(path) {
    const content = await this.readBytes(path)
    if (content === null) return null
    try {
      return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(content)
    } catch (cause) {
      const next = 'Use `readBytes`, or `read` of a session with `encoding`.'
      throw Object.assign(new ContentError('content.undecodable', `${named(path)} is not UTF-8.`, '', next), { cause })
    }
  }

  files() {
    return Object.fromEntries(this.#native.files().map(({ path, content }) => [path, content]))
  }

  session(name, options) {
    const rules = { name: name ?? native.sessionName(), ...optionsOf('session', options, SESSION_OPTIONS) }
    return new Session(this, this.#native, rules, undefined, this.#queues)
  }

  /** Stores what the history still needs. */
  async close() {
    await this.#native.close()
  }

  async [Symbol.asyncDispose ?? Symbol.for('Symbol.asyncDispose')]() {
    await this.close()
  }
}

/** Calls of one agent. Its reads decide what it may edit, and its changes are what `undo` takes back. */
export class Session {
  #workspace
  #native
  #rules
  #signal
  #queues

  constructor(workspace, native_, rules, signal, queues) {
    if (!(workspace instanceof Workspace)) throw new TypeError('Use `workspace.session(name)`.')
    this.#workspace = workspace
    this.#native = native_
    this.#rules = rules
    this.#signal = signal
    this.#queues = queues
  }

  get workspace() {
    return this.#workspace
  }

  get name() {
    return this.#rules.name
  }

  get directory() {
    return this.#rules.directory ?? null
  }

  #with(rules, signal = this.#signal) {
    return new Session(this.#workspace, this.#native, { ...this.#rules, ...rules }, signal, this.#queues)
  }

  approved(seal, texts = {}) {
    return this.#with({ approval: { seal, agreed: true, texts: Object.entries(entries(texts)) } })
  }

  denied(seal, reason) {
    return this.#with({ approval: { seal, agreed: false, texts: [], reason } })
  }

  planning() {
    return this.#with({ dryRun: true })
  }

  withSignal(signal) {
    return this.#with({}, signal)
  }

  [FOR_PROFILE](profile) {
    return this.#with({ profile })
  }

  /** The decoded text of a file, which does not count as read; `null` if there is none. For adapters. */
  [DECODED_TEXT](path) {
    return this.#run('text', { path: named(path) })
  }

  async #run(method, input, signal = this.#signal) {
    const [rules, json] = [encoded(this.#rules), encoded(input)]
    const work = () => run(handle => this.#native.run(rules, method, json, handle), signal)
    return this.#queues.run(this.name, method === 'read' || method === 'text', work)
  }

  async read(path, options) {
    const { start, end, encoding, signal } = optionsOf('read', options, ['start', 'end', 'encoding', 'signal'])
    return this.#run('read', { path: named(path), start, end, encoding }, signal)
  }

  async edit(path, old, replacement, given) {
    const { replaceAll, ...options } = optionsOf('edit', given, ['replaceAll', ...CHANGE_OPTIONS])
    return this.multiEdit(path, [{ old, new: replacement, replaceAll }], options)
  }

  async multiEdit(path, edits, given) {
    const { signal, ...options } = optionsOf('multiEdit', given, CHANGE_OPTIONS)
    if (edits.length === 0) throw invalid('`edits` is empty.', 'Pass one edit or more.')
    const items = edits.map(edit => (Array.isArray(edit) ? { old: edit[0], new: edit[1] } : edit))
    return changed(await this.#run('edit', { path: named(path), edits: items, options }, signal))
  }

  async write(path, text, given) {
    const { createNew, signal, ...options } = optionsOf('write', given, ['createNew', ...CHANGE_OPTIONS])
    return changed(await this.#run('write', { path: named(path), text, createNew, options }, signal))
  }

  async apply(text, given) {
    const { format, directory, file, strip, reverse, overwrite, ...rest } = optionsOf('apply', given, APPLY_OPTIONS)
    const { signal, ...options } = rest
    const input = { text, format, directory, file, strip, reverse, overwrite, options }
    return changed(await this.#run('apply', input, signal))
  }

  async undo(operation, given) {
    const { path, signal, ...options } = optionsOf('undo', given, UNDO_OPTIONS)
    const input = { ...options, operation, path: path === undefined ? undefined : named(path) }
    const done = await this.#run('undo', input, signal)
    return { ...done, change: changed(done.change) }
  }

  async call(tool, input, options) {
    const { profile, signal = this.#signal } = optionsOf('call', options, ['profile', 'signal'])
    if (typeof tool !== 'string') throw invalid(`The name of a tool is ${described(tool)}.`, 'Pass a string.')
    let given
    try {
      given = typeof input === 'string' ? input.replace(HALF_PAIR, escape) : JSON.stringify(input ?? {})
    } catch (error) {
      if (!(error instanceof RangeError)) throw error
      return new Reply({ ok: false, text: String(errorOf(tooDeep)), error: tooDeep })
    }
    const parts = await this.#run('call', { tool: tool.replace(HALF_PAIR, escape), input: given, profile }, signal)
    const reply = new Reply(parts)
    if (reply.code === 'call.cancelled' && signal?.aborted) throw aborted(reply.error, signal)
    return reply
  }

  tools(profile = 'default') {
    const tool = row => ({ ...row, call: (input, options) => this.call(row.name, input, { ...options, profile }) })
    return opened(native.toolRows(String(profile))).map(tool)
  }
}

// Half of a surrogate pair. As an escape it reaches the engine, whose reply to the model refuses it.
const HALF_PAIR = /[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g
const escape = half => `\\u${half.charCodeAt(0).toString(16)}`

/** Makes the errors of a change. */
function changed(outcome) {
  for (const file of outcome.files) file.failed = file.failed.map(errorOf)
  return outcome
}

/** The reply to the call of a tool: text for a model, and data for programs. */
export class Reply {
  constructor({ ok, text, data, error, question }) {
    this.ok = ok
    this.text = text
    this.data = data ?? {}
    this.error = error ? errorOf(error) : null
    this.question = question ?? null
  }

  get code() {
    return this.error?.code ?? null
  }

  get retryable() {
    return this.error?.retryable ?? false
  }

  toString() {
    return this.text
  }
}
