import type {
  Applied,
  ApplyFilesOptions,
  ApplyTextOptions,
  AppliedFiles,
  ChangedSpan,
  ConvertOptions,
  EditTextOptions,
  Files,
  PatchText,
  SimilarityOptions,
} from './text.js'

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
  unified(path: string): string
  /** Prints the difference as a patch in one of `printFormats()`. Throws `edit.no_change` for equal texts. */
  toPatch(path: string, format: string): string
}

/** The functions on text. Each throws `EmendError` with the next call that works. */
export interface Core {
  /** Applies what a model wrote, in any text format, to one text: all of it, or nothing. */
  apply(text: string, patch: string, options?: ApplyTextOptions): Applied
  /** Applies a patch to files in memory: all of it, or nothing. The given files are not changed. */
  applyFiles(files: Files, patch: string, options?: ApplyFilesOptions): AppliedFiles
  /** Replaces `old` by `replacement`. `old` must occur exactly once, unless `replaceAll` is set. */
  edit(text: string, old: string, replacement: string, options?: EditTextOptions): Applied
  /** Compares two texts by lines, and then by characters. */
  diff(before: string, after: string): TextDiff
  /** Applies a patch to files in memory, and prints the changes in another format: one of `printFormats()`. */
  convert(files: Files, patch: string, to: string, options?: ConvertOptions): PatchText
  /** Returns how similar two texts are, from 0 to 1, as Python's `difflib.SequenceMatcher.ratio` does. */
  similarity(a: string, b: string, options?: SimilarityOptions): number
  /** The names of the formats that `apply` takes. */
  textFormats(): string[]
  /** The names of the formats that `convert` and `toPatch` print. */
  printFormats(): string[]
}

/** A module, or where it is: bytes, a compiled module, a response, or a URL. */
export type ModuleSource = Uint8Array | ArrayBuffer | WebAssembly.Module | Response | Promise<Response> | URL | string

/** Loads the module once, and returns the functions. By default it is the file beside this one. */
export declare function load(source?: ModuleSource): Promise<Core>

/** Loads the module from its bytes, or from a compiled one, without waiting. */
export declare function loadSync(module: Uint8Array | ArrayBuffer | WebAssembly.Module): Core
