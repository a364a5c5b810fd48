/** Replaces the directory `root` by `name` in a text. */
export declare function shown(text: string, root: string, name: string): string
