// Paths as a model sees them.

/** Replaces the directory `root` by `name` in a text. */
export function shown(text, root, name) {
  if (root === '') return text
  const escaped = root.replace(/[\\^$.*+?()[\]{}|/-]/g, '\\$&')
  return text.replace(new RegExp(`${escaped}(?![\\w.-])`, 'g'), () => name)
}
