// Views that end where a model was told that they do.
import { DECODED_TEXT } from '../loader.js'

// A number, and the tab behind it.
const NUMBER_CHARACTERS = 7

const isRange = given => Array.isArray(given) && given.length === 2 && given.every(Number.isInteger)

async function textOf(session, path) {
  try {
    return (await session[DECODED_TEXT](path)) ?? undefined
  } catch {
    return undefined
  }
}

/**
 * The first and the last line that a view shows, and the last that it would show without a limit; `undefined` if the
 * limit makes no difference, and for what is not the view of a text.
 */
export async function viewWindow(session, input, maxCharacters) {
  const range = input?.view_range ?? [1, -1]
  if (input?.command !== 'view' || typeof input.path !== 'string' || !isRange(range)) return undefined
  const lines = (await textOf(session, input.path))?.split('\n')
  if (lines === undefined) return undefined
  if (lines.at(-1) === '') lines.pop()
  const start = Math.max(range[0], 1)
  const last = range[1] < 0 ? lines.length : Math.min(range[1], lines.length)
  let [room, shown] = [maxCharacters, 0]
  for (const line of lines.slice(start - 1, last)) {
    room -= [...line].length + NUMBER_CHARACTERS + 1
    if (room < 0) {
      // One line is always shown: there is no smaller view.
      const end = start + Math.max(shown, 1) - 1
      return end < last ? { start, end, last } : undefined
    }
    shown += 1
  }
  return undefined
}
