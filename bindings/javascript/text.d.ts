// Types of the functions on text. Both packages have a copy of this file.

/** The tolerance of matching. */
export type Match = 'exact' | 'strict' | 'standard'

/** How much the matching forgave. */
export type Tier =
  | 'exact'
  | 'punctuation'
  | 'trailing_blanks'
  | 'lines_alike'
  | 'indent_shift'
  | 'indent_widths'
  | 'blank_runs'
  | 'blank_edges'
  | 'line_numbers'
  | 'escapes'
  | 'elision'
  | 'drift'
  | 'block'

/** A replacement: `before.slice(start, end)` became `after.slice(newStart, newEnd)`. */
export interface ChangedSpan {
  readonly start: number
  readonly end: number
  readonly newStart: number
  readonly newEnd: number
}

/** The outcome of an edit of one text. Everything outside of `spans` is as it was before. */
export interface Applied {
  readonly text: string
  /** The format of the patch: the one that was named, or the detected one. */
  readonly format: string
  /** The largest tolerance that an edit needed. */
  readonly tier: Tier
  /** Every tolerance, as sentences. Empty for an exact edit. */
  readonly notes: readonly string[]
  /** The changed parts, sorted; offsets as `slice` takes them. */
  readonly spans: readonly ChangedSpan[]
  /** The edits, blocks or hunks that were applied. */
  readonly edits: number
  /** The places that they changed. */
  readonly places: number
  /** Added lines. */
  readonly added: number
  /** Removed lines. */
  readonly removed: number
  /** The new path, if the patch moves the file. */
  readonly newPath: string | null
}

/** The change of one file. */
export interface ChangedFile {
  readonly kind: 'created' | 'updated' | 'deleted' | 'renamed' | 'copied'
  /** The path that a renamed or copied file comes from. */
  readonly fromPath: string | null
  /** The new text; `null` for a deleted file. */
  readonly text: string | null
  readonly tier: Tier
  readonly notes: readonly string[]
  readonly spans: readonly ChangedSpan[]
  readonly edits: number
  readonly places: number
  readonly added: number
  readonly removed: number
  /** Whether the patch makes the file executable or not; `null` if it says nothing. */
  readonly executable: boolean | null
}

/** Texts by path. */
export type Files = Readonly<Record<string, string>> | ReadonlyMap<string, string>

/** The outcome of a patch of several files. */
export declare class AppliedFiles {
  private constructor()
  readonly format: string
  /** Every changed file, by its path after the change; a deleted one by its former path. */
  readonly files: Readonly<Record<string, ChangedFile>>
  /** Tolerances that belong to no single file. */
  readonly notes: readonly string[]
  /** Returns a copy of the given files with the changes. */
  after(files: Files): Record<string, string>
}

/** A patch in another format. */
export interface PatchText {
  readonly text: string
  /** The format of the given patch. */
  readonly fromFormat: string
  /** The format of `text`. */
  readonly format: string
  /** Every tolerance of reading and placing the given patch. */
  readonly notes: readonly string[]
}

/** Options of `edit`. */
export interface EditTextOptions {
  /** Replace every occurrence. Otherwise `old` must occur exactly once. */
  replaceAll?: boolean
  /** The path of the text, for messages. */
  path?: string
  match?: Match
  /** Lines that look like placeholders for omitted text are meant as they are. */
  placeholdersMeant?: boolean
  /** Bytes of each text (default: 64 MB). */
  maxBytes?: number
  /** Steps of work. */
  maxSteps?: number
}

/** Options of `convert`. */
export interface ConvertOptions {
  /** One of `textFormats()` (default: detected). */
  format?: string
  /** The path of the text, which a patch that names no file is about. */
  path?: string
  match?: Match
  /** Leading directories to remove from names. */
  strip?: number
  maxBytes?: number
  maxSteps?: number
}

/** Options of `apply`. */
export interface ApplyTextOptions extends ConvertOptions {
  /** Reverse every change. */
  reverse?: boolean
  placeholdersMeant?: boolean
}

/** Options of `applyFiles`. */
export interface ApplyFilesOptions extends ApplyTextOptions {
  /** Created and moved files may replace existing ones. */
  overwrite?: boolean
}

/** Options of `similarity`. */
export interface SimilarityOptions {
  by?: 'characters' | 'lines'
}
