import type {
  Applied,
  AppliedFiles,
  ApplyFilesOptions,
  ApplyTextOptions,
  ChangedSpan,
  ConvertOptions,
  EditTextOptions,
  Files,
  Match,
  PatchText,
  SimilarityOptions,
  Tier,
} from './text.js'
import type { EmendError } from './errors.js'

export type {
  Applied,
  ApplyFilesOptions,
  ApplyTextOptions,
  ChangedFile,
  ChangedSpan,
  ConvertOptions,
  EditTextOptions,
  Files,
  Match,
  PatchText,
  SimilarityOptions,
  Tier,
} from './text.js'
export { AppliedFiles } from './text.js'
export { EmendError } from './errors.js'
export * as errors from './errors.js'

/** A call that a signal stops: before it writes, or not at all. Then it rejects with an error named `AbortError`. */
export interface Abortable {
  signal?: AbortSignal
}

/** The difference between two texts. */
export declare class TextDiff {
  private constructor()
  /** The changed parts, sorted; offsets as `slice` takes them. */
  readonly spans: readonly ChangedSpan[]
  readonly added: number
  readonly removed: number
  /** True for equal texts. */
  readonly isEmpty: boolean
  /** Formats the difference as a unified diff for people; empty for equal texts. */
  unified(path: string): Promise<string>
  /** Prints the difference as a patch in one of `printFormats()`. Rejects with `edit.no_change` for equal texts. */
  toPatch(path: string, format: string): Promise<string>
}

/** Applies what a model wrote, in any text format, to one text: all of it, or nothing. */
export declare function apply(text: string, patch: string, options?: ApplyTextOptions & Abortable): Promise<Applied>

/** Applies a patch to files in memory: all of it, or nothing. The given files are not changed. */
export declare function applyFiles(
  files: Files,
  patch: string,
  options?: ApplyFilesOptions & Abortable,
): Promise<AppliedFiles>

/** Replaces `old` by `replacement`. `old` must occur exactly once, unless `replaceAll` is set. */
export declare function edit(
  text: string,
  old: string,
  replacement: string,
  options?: EditTextOptions & Abortable,
): Promise<Applied>

/** Compares two texts by lines, and then by characters. */
export declare function diff(before: string, after: string, options?: Abortable): Promise<TextDiff>

/** Applies a patch to files in memory, and prints the changes in another format: one of `printFormats()`. */
export declare function convert(
  files: Files,
  patch: string,
  to: string,
  options?: ConvertOptions & Abortable,
): Promise<PatchText>

/** Returns how similar two texts are, from 0 to 1, as Python's `difflib.SequenceMatcher.ratio` does. */
export declare function similarity(a: string, b: string, options?: SimilarityOptions & Abortable): Promise<number>

/** The names of the text formats that `apply` takes. */
export declare function textFormats(): string[]

/** The names of the formats that `convert` and `toPatch` print. */
export declare function printFormats(): string[]

/** The profiles: sets of tools for one kind of client, and what each is for. */
export declare function profiles(): Record<string, string>

/** The instructions of a profile for a model, in at most 512 characters. Throws `call.invalid` for an unknown one. */
export declare function instructions(profile?: string): string

/** A path, or a URL with the scheme `file:`. */
export type Path = string | URL

/** Settings of a workspace in memory. */
export interface MemoryOptions {
  /** The text of an `emend.toml`. */
  config?: string
}

/** Settings of a workspace. */
export interface OpenOptions extends MemoryOptions {
  /** The directory of the history, for undo in later processes (default: in memory). */
  state?: Path
}

/** Rules of a session. */
export interface SessionRules {
  /** With `deny`, the default, a session may edit only lines that it has read. */
  unread?: 'deny' | 'allow'
  /** Reaction to a file that changed since it was read (default: that of the settings). */
  onStale?: 'merge' | 'reject' | 'markers' | 'ask'
  /** Plan everything, write nothing. */
  dryRun?: boolean
  /** The absolute directory at which relative names begin (default: the first root). */
  directory?: string
  /** Allow changes that cannot be undone (default: only with `unread: 'allow'`). */
  irreversible?: boolean
}

/** Files below directories, or in memory, for any number of sessions. */
export declare class Workspace {
  private constructor()
  /** Opens a directory, or several. Settings of the project are added to `config`. */
  static open(roots: Path | readonly Path[], options?: OpenOptions): Promise<Workspace>
  /** Opens files in memory, given by path; they are copied. */
  static inMemory(
    files?: Readonly<Record<string, string | Uint8Array>> | ReadonlyMap<string, string | Uint8Array>,
    options?: MemoryOptions,
  ): Promise<Workspace>
  /** The directories that can be accessed, without links. */
  readonly roots: string[]
  /** Messages for a person, such as settings without effect. Each is returned once. */
  notices(): string[]
  /** Returns the content of a file without recording it as read; `null` if there is none. */
  readBytes(path: Path): Promise<Buffer | null>
  /** Returns the content of a file in UTF-8 without recording it as read; `null` if there is none. */
  readText(path: Path): Promise<string | null>
  /** The files of a workspace in memory, by absolute path; empty for any other. */
  files(): Record<string, Buffer>
  /** Returns the session of that name (default: a new one). */
  session(name?: string, rules?: SessionRules): Session
  /** Stores what the history still needs, which also happens when the process ends. */
  close(): Promise<void>
  [Symbol.asyncDispose](): Promise<void>
}

/** Options of every call that changes files. */
export interface ChangeOptions extends Abortable {
  /** The version that the edit is based on, as a read or a change returned it (default: the last one seen). */
  tag?: string
  /** The encoding of the file, if it is neither UTF-8 nor marked. */
  encoding?: string
  /** Reaction to a file that changed since it was read (default: the session's). */
  onStale?: 'merge' | 'reject' | 'markers' | 'ask'
  /** The tolerance of matching (default: that of the settings). */
  match?: Match
  /** Plan everything, write nothing. */
  dryRun?: boolean
  /** Apply the edits that can be applied, and report the others in `failed` and `rejected`. */
  partial?: boolean
  /** Allow the edit to make JSON, TOML or YAML invalid. */
  allowInvalid?: boolean
  /** Write even what cannot be undone afterwards. */
  irreversible?: boolean
  /** Apply the edit once more although its result is in place already. */
  repeat?: boolean
  /** Return the change of each file as a unified diff. */
  diff?: boolean
}

/** Options of `Session.read`. Numbers of lines begin at 1 and include both ends. */
export interface ReadOptions extends Abortable {
  start?: number
  end?: number
  encoding?: string
}

/** Options of `Session.write`. */
export interface WriteOptions extends ChangeOptions {
  /** Refuse to write a file that exists. */
  createNew?: boolean
}

/** Options of `Session.apply`. */
export interface ApplyOptions extends ChangeOptions {
  /** One of `textFormats()` (default: detected). */
  format?: string
  /** The absolute directory at which names begin. */
  directory?: string
  /** The file that the text is about, if it names none. */
  file?: string
  /** Leading directories to remove from names. */
  strip?: number
  /** Reverse every change. */
  reverse?: boolean
  /** Created and moved files may replace existing ones. */
  overwrite?: boolean
}

/** Options of `Session.undo`. */
export interface UndoOptions extends Abortable {
  /** Undo that many operations. */
  last?: number
  /** Undo the last operation of this file. */
  path?: Path
  /** Undo the last undo. */
  redo?: boolean
  /** Operations of other sessions count as well. */
  anySession?: boolean
  dryRun?: boolean
  irreversible?: boolean
  diff?: boolean
}

/** One replacement of `Session.multiEdit`. */
export interface TextEdit {
  /** The text to replace, without line numbers. Empty only to fill a blank file. */
  old: string
  /** The text in its place. Empty deletes. */
  new: string
  /** Replace every occurrence. Otherwise `old` must occur exactly once. */
  replaceAll?: boolean
  /** Replace exactly that many occurrences. */
  expected?: number
  /** The id of one of several candidates, as an error listed it. */
  at?: string
  /** The line near which the text is expected; decides between equal candidates only. */
  line?: number
}

/** The text of a file, or of some of its lines. */
export interface ReadOutcome {
  /** The absolute path, after links were resolved. */
  readonly path: string
  /** The text of the lines, decoded and with `\n` line ends. */
  readonly text: string
  readonly start: number
  /** The number of the last line; less than `start` for an empty file. */
  readonly end: number
  readonly totalLines: number
  /** The tag of the version, which names it in later calls. */
  readonly tag: string
  /** True if the text is that of the whole file. */
  readonly isComplete: boolean
  readonly notes: readonly string[]
}

/** The placement of one edit of a call. */
export interface EditPlacement {
  /** The index of the edit in the call. */
  readonly edit: number
  readonly tier: Tier
  readonly places: number
  readonly notes: readonly string[]
}

/** The change of one file. */
export interface FileChangeOutcome {
  readonly path: string
  readonly kind: 'created' | 'updated' | 'unchanged' | 'deleted' | 'moved' | 'copied' | 'linked'
  /** The path that a moved or copied file comes from. */
  readonly fromPath: string | null
  readonly tier: Tier
  readonly edits: readonly EditPlacement[]
  /** The changed bytes of the file, sorted. */
  readonly byteSpans: readonly ChangedSpan[]
  readonly added: number
  readonly removed: number
  /** The file had changed since it was read, and the edit was carried over. */
  readonly merged: boolean
  /** Both sides of a conflict are in the text, between markers. */
  readonly hasConflictMarkers: boolean
  readonly notes: readonly string[]
  /** The errors of edits that were not applied, if the call is `partial`. */
  readonly failed: readonly EmendError[]
  /** The tag of the new version; `null` for a removed file and in a dry run. */
  readonly tag: string | null
  /** The change as a unified diff, if the call asked for it. */
  readonly diff: string | null
}

/** The outcome of a call that changes files, or of its dry run. */
export interface ChangeOutcome {
  /** The operation in the history, for `undo`; `null` for a dry run, and where nothing had to be written. */
  readonly operation: string | null
  readonly format: string
  readonly files: readonly FileChangeOutcome[]
  readonly tier: Tier
  readonly places: number
  readonly notes: readonly string[]
  /** Edits that were not applied, as a patch, if the call is `partial`. */
  readonly rejected: string
  readonly dryRun: boolean
  /** The diffs of all files, if the call asked for them. */
  readonly diff: string
}

/** The outcome of an undo or a redo. */
export interface UndoOutcome {
  /** The operations that were undone, the newest first; for a redo, the undo that was undone. */
  readonly undone: readonly string[]
  readonly change: ChangeOutcome
}

/** The question to a person that a call ended with. */
export interface Question {
  readonly seal: string
  /** The change of each file. */
  readonly files: readonly Record<string, any>[]
  readonly [fact: string]: any
}

/** The reply to the call of a tool: text for a model, and data for programs. */
export declare class Reply {
  private constructor()
  readonly ok: boolean
  /** The text for the model: the result, or the error with evidence and the next call. */
  readonly text: string
  /** Facts for programs; docs/replies.md lists them. Of a failure, see `error.data`. */
  readonly data: Record<string, any>
  /** The error, which is not thrown. */
  readonly error: EmendError | null
  readonly question: Question | null
  /** The code of the error. */
  readonly code: string | null
  /** True if the same call can succeed later: at once, or after reading the file again. */
  readonly retryable: boolean
  toString(): string
}

/** The input of a tool: an object, or its JSON. */
export type ToolInput = Readonly<Record<string, unknown>> | string

/** A tool as a profile offers it, for the constructor of any SDK. */
export interface Tool {
  readonly name: string
  /** A name for people. */
  readonly title: string
  /** The description for a model. */
  readonly description: string
  /** The JSON schema of the input. */
  readonly inputSchema: { type: 'object'; properties?: Record<string, any>; required?: string[]; [key: string]: any }
  /** It changes no file. */
  readonly readOnly: boolean
  /** It may remove or replace text. */
  readonly destructive: boolean
  /** A repeated call changes nothing more. */
  readonly idempotent: boolean
  /** Calls the tool. Rejects only for an aborted signal: the reply has the error. */
  call(input: ToolInput, options?: Abortable): Promise<Reply>
}

/**
 * Calls of one agent. Its reads decide what it may edit, and its changes are what `undo` takes back. Calls keep their
 * order, however many are made at once.
 */
export declare class Session {
  private constructor()
  readonly workspace: Workspace
  readonly name: string
  /** The absolute directory at which relative names begin, if it was given. */
  readonly directory: string | null
  /** This session with a person's approval of a question, for the same call again. */
  approved(seal: string, texts?: Files): Session
  /** This session with a person's refusal of a question, for the same call again. The model receives the reason. */
  denied(seal: string, reason?: string): Session
  /** This session with every call planned only; nothing is written. */
  planning(): Session
  /** This session with a signal that stops its calls. */
  withSignal(signal: AbortSignal | undefined): Session
  /** Reads a file, or some of its lines; they count as read. */
  read(path: Path, options?: ReadOptions): Promise<ReadOutcome>
  /** Replaces `old`, which must occur exactly once, by `replacement`; with `replaceAll`, every occurrence. */
  edit(
    path: Path,
    old: string,
    replacement: string,
    options?: ChangeOptions & { replaceAll?: boolean },
  ): Promise<ChangeOutcome>
  /** Makes all edits, or none. They apply to the same text, unless one needs the result of an earlier one. */
  multiEdit(
    path: Path,
    edits: readonly (TextEdit | readonly [old: string, replacement: string])[],
    options?: ChangeOptions,
  ): Promise<ChangeOutcome>
  /** Writes the whole text of a file, and creates it if there is none. */
  write(path: Path, text: string, options?: WriteOptions): Promise<ChangeOutcome>
  /** Applies edits as a model wrote them, in any text format, to any number of files: all or nothing. */
  apply(text: string, options?: ApplyOptions): Promise<ChangeOutcome>
  /** Undoes the last operation of this session, or another one. */
  undo(operation?: string, options?: UndoOptions): Promise<UndoOutcome>
  /**
   * Calls a tool as a model does; with `profile`, one of that profile, by its names. Rejects only for an aborted signal.
   */
  call(tool: string, input: ToolInput, options?: Abortable & { profile?: string }): Promise<Reply>
  /** The tools of a profile, bound to this session. */
  tools(profile?: string): Tool[]
}
