// Renders a change as lines, with the changed characters marked.

const CONTEXT = 3

/** The offsets at which lines begin, and the length of the text. */
function starts(text) {
  const all = [0]
  for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) {
    if (at + 1 < text.length) all.push(at + 1)
  }
  return text === '' ? [0] : [...all, text.length]
}

/** The index of the line that contains an offset. */
function lineAt(begins, offset) {
  let [low, high] = [0, begins.length - 1]
  while (low < high) {
    const middle = (low + high + 1) >> 1
    if (begins[middle] <= offset) low = middle
    else high = middle - 1
  }
  return low
}

/** The lines that a part of a text touches: from the first to the one behind the last. */
function touched(begins, start, end, whole) {
  if (whole) return [lineAt(begins, start), lineAt(begins, end)]
  // What is added to a last line without an end belongs to that line.
  const from = Math.max(0, Math.min(lineAt(begins, start), begins.length - 2))
  return [from, Math.min(lineAt(begins, Math.max(start, end - 1)) + 1, begins.length - 1)]
}

const begins = (all, offset) => all[lineAt(all, offset)] === offset
const endsLine = (text, start, end) => end === start || text[end - 1] === '\n'

/** Groups of changed lines: `{ old: [from, to], new: [from, to] }`, sorted and disjoint. */
export function groups(before, after, spans) {
  const [old, now] = [starts(before), starts(after)]
  const all = []
  for (const { start, end, newStart, newEnd } of spans) {
    // Whole lines were inserted, removed or replaced: their neighbours are context.
    const whole =
      begins(old, start) && begins(now, newStart) && endsLine(before, start, end) && endsLine(after, newStart, newEnd)
    const group = { old: touched(old, start, end, whole), new: touched(now, newStart, newEnd, whole) }
    const last = all.at(-1)
    if (last && (group.old[0] < last.old[1] || group.new[0] < last.new[1])) {
      last.old[1] = Math.max(last.old[1], group.old[1])
      last.new[1] = Math.max(last.new[1], group.new[1])
    } else {
      all.push(group)
    }
  }
  return all
}

function element(name, className, ...children) {
  const made = document.createElement(name)
  if (className) made.className = className
  made.append(...children)
  return made
}

/** A line with its number; `marks` are the changed parts of the text. */
function row(kind, text, begins, index, marks) {
  const [from, to] = [begins[index], begins[index + 1]]
  const line = element('code', '')
  let at = from
  for (const [start, end] of marks) {
    if (end <= at || start >= to) continue
    line.append(text.slice(at, Math.max(at, start)))
    line.append(element('mark', '', text.slice(Math.max(at, start), Math.min(end, to)).replace(/\r?\n$/, '↵')))
    at = Math.min(end, to)
  }
  line.append(text.slice(at, to).replace(/\n$/, ''))
  const sign = { removed: '−', added: '+', same: ' ' }[kind]
  return element('div', `line ${kind}`, element('span', 'number', String(index + 1)), element('span', 'sign', sign), line)
}

/** Returns an element with the change. */
export function render(before, after, spans) {
  const [old, now] = [starts(before), starts(after)]
  const removed = spans.map(({ start, end }) => [start, end])
  const added = spans.map(({ newStart, newEnd }) => [newStart, newEnd])
  const shown = element('div', 'diff')
  // The line of the old text up to which everything is rendered.
  let done = 0
  const context = (from, to) => {
    for (let index = from; index < to; index += 1) shown.append(row('same', before, old, index, []))
  }
  for (const group of groups(before, after, spans)) {
    const from = Math.max(done, group.old[0] - CONTEXT)
    if (done > 0) context(done, Math.min(done + CONTEXT, group.old[0]))
    const next = done > 0 ? Math.max(from, Math.min(done + CONTEXT, group.old[0])) : from
    if (next > done + CONTEXT || (done === 0 && next > 0)) shown.append(element('div', 'gap', '⋯'))
    context(next, group.old[0])
    for (let index = group.old[0]; index < group.old[1]; index += 1) shown.append(row('removed', before, old, index, removed))
    for (let index = group.new[0]; index < group.new[1]; index += 1) shown.append(row('added', after, now, index, added))
    done = group.old[1]
  }
  context(done, Math.min(done + CONTEXT, old.length - 1))
  if (done + CONTEXT < old.length - 1) shown.append(element('div', 'gap', '⋯'))
  return shown
}
