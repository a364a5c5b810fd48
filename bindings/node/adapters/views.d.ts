import type { Session } from '../index.js'

/**
 * The first and the last line that a view shows, and the last that it would show without a limit; `undefined` if the
 * limit makes no difference, and for what is not the view of a text.
 */
export declare function viewWindow(
  session: Session,
  input: unknown,
  maxCharacters: number,
): Promise<{ start: number; end: number; last: number } | undefined>
