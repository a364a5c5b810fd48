/** The format of the patches. */
export declare const FORMAT: 'apply_patch'

/** The part of a patch about one file. `body` has the lines of the change. */
export interface Section {
  verb: 'Add' | 'Update' | 'Delete'
  path: string
  to?: string | undefined
  body?: string | undefined
}

/** The patch of one operation of a model, whose `diff` is only its body. Throws like `patchOf`. */
export declare function operationPatch(
  session: import('../index.js').Session,
  operation: { type: string; path: string; diff?: string | undefined; moveTo?: string | undefined },
): Promise<string>

/** The text of a patch. Throws `EmendError` if it would change another file than its sections name. */
export declare function patchOf(sections: Section[]): Promise<string>
