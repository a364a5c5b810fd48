// Paths as a model sees them. The texts of files are left as they are: a model copies them.

// A line of a file in a reply: its number, perhaps marked as changed, and a tab or a colon.
const LINE = /^[> ]*\d+[\t:]/
const STRING = /("(?:[^"\\]|\\.)*")/

/** Replaces the directory `root` by `name` in a text without texts of files. Without a `name`, paths begin with `/`. */
export function shown(text, root, name) {
  if (root === '') return text
  const escaped = root.replace(/[\\^$.*+?()[\]{}|/-]/g, '\\$&')
  const path = new RegExp(`(?<![\\w./-])${escaped}(/|(?![\\w-]|\\.[\\w.-]))`, 'g')
  return text.replace(path, (_, slash) => (slash ? `${name}/` : name || '/'))
}

/** The text of a reply, with the directory `root` replaced in its paths. */
export function shownReply(reply, root, name) {
  if (reply.error !== null) return shownError(reply.error, root, name)
  const lines = reply.text.split('\n')
  return lines.map(line => (LINE.test(line) ? line : shown(line, root, name))).join('\n')
}

/** The text of an error, with the directory `root` replaced in its paths. */
export function shownError({ code, message, evidence, next }, root, name) {
  const lines = evidence.split('\n')
  // The roots are indented, where a line of a file could be.
  const isPath = line => code === 'path.outside' || line.startsWith(root)
  const told = lines.map(line => (root !== '' && isPath(line) ? shown(line, root, name) : line)).join('\n')
  const advice = next ? `Next: ${sentences(next, root, name)}` : ''
  return [sentences(message, root, name), told, advice].filter(part => part !== '').join('\n')
}

/** Replaces a directory outside of strings, and in strings that begin with it: others may be texts of files. */
function sentences(text, root, name) {
  const parts = text.split(STRING)
  const part = (given, nth) => {
    if (nth % 2 === 0) return shown(given, root, name)
    return root !== '' && given.startsWith(`"${root}`) ? `"${shown(given.slice(1, -1), root, name)}"` : given
  }
  return parts.map(part).join('')
}
