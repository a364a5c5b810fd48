import type { EmendError, Reply } from '../index.js'

/** Replaces the directory `root` by `name` in a text without texts of files. Without a `name`, paths begin with `/`. */
export declare function shown(text: string, root: string, name: string): string
/** The text of a reply, with the directory `root` replaced in its paths. */
export declare function shownReply(reply: Reply, root: string, name: string): string
/** The text of an error, with the directory `root` replaced in its paths. */
export declare function shownError(error: EmendError, root: string, name: string): string
