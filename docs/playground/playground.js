// The playground: what the engine makes of a reply. Nothing leaves the page.
import { load } from './core/index.js'
import { render } from './diff.js'
import { EXAMPLES } from './examples.js'

const MATCHES = ['exact', 'strict', 'standard']
// Steps of one outcome, so that typing stays smooth.
const STEPS_MAX = 20_000_000
const PAUSE_MS = 150

function element(name, properties = {}, ...children) {
  const made = Object.assign(document.createElement(name), properties)
  made.append(...children)
  return made
}

const fields = {
  example: element('select', { ariaLabel: 'Example' }),
  path: element('input', { ariaLabel: 'Path of the file', spellcheck: false }),
  file: element('textarea', { ariaLabel: 'The file', rows: 14, spellcheck: false, wrap: 'off' }),
  reply: element('textarea', { ariaLabel: "The model's reply", rows: 14, spellcheck: false, wrap: 'off' }),
}
const outcome = element('section', { className: 'outcome', ariaLive: 'polite' })
const table = element('section', { className: 'table' })
const conversions = element('section', { className: 'conversions' })

let core
// The cell of the table that is shown.
let selected = { format: null, match: 'standard' }

function attempt({ format, match }) {
  const options = { path: fields.path.value || undefined, match, maxSteps: STEPS_MAX }
  if (format !== null) options.format = format
  try {
    return { done: core.apply(fields.file.value, fields.reply.value, options) }
  } catch (error) {
    if (typeof error.code !== 'string') throw error
    return { error }
  }
}

function count(number, one) {
  return `${number} ${one}${number === 1 ? '' : 's'}`
}

function showDone(done) {
  const tier = done.tier === 'exact' ? 'exactly as written' : `with the tolerance ${done.tier}`
  const changed = `${count(done.added, 'line')} added, ${count(done.removed, 'line')} removed`
  outcome.append(
    element('h3', { className: 'applied' }, `Applied ${tier}`),
    element('p', {}, 'Format ', element('code', {}, done.format), `, ${count(done.edits, 'edit')}: ${changed}.`),
  )
  if (done.newPath) outcome.append(element('p', {}, 'The file moves to ', element('code', {}, done.newPath), '.'))
  if (done.notes.length > 0) {
    const notes = done.notes.map(note => element('li', {}, note))
    outcome.append(element('p', {}, 'The model is informed about:'), element('ul', { className: 'notes' }, ...notes))
  }
  outcome.append(render(fields.file.value, done.text, done.spans))
}

function showError(error) {
  outcome.append(
    element('h3', { className: 'refused' }, 'Refused: ', element('code', {}, error.code)),
    element('p', {}, `Nothing is changed. Remedy: ${error.remedy}. The model receives:`),
    element('pre', { className: 'refusal' }, String(error)),
  )
}

function showOutcome() {
  outcome.replaceChildren()
  const { done, error } = attempt(selected)
  if (done) showDone(done)
  else showError(error)
  showConversions(done)
}

function cell(format, match) {
  const { done, error } = attempt({ format, match })
  const button = element('button', { type: 'button', className: done ? 'applied' : 'refused' }, done ? done.tier : error.code)
  button.ariaPressed = String(selected.format === format && selected.match === match)
  button.addEventListener('click', () => {
    selected = { format, match }
    update()
    outcome.scrollIntoView({ block: 'nearest' })
  })
  return { made: element('td', {}, button), reads: Boolean(done) || error.code !== 'edit.unparsable' }
}

function tableRow(format, detected) {
  const cells = MATCHES.map(match => cell(format, match))
  const name = format ?? `detected${detected ? `: ${detected}` : ''}`
  const made = element('tr', {}, element('th', { scope: 'row' }, name), ...cells.map(({ made }) => made))
  return { made, reads: cells.some(({ reads }) => reads) }
}

function showTable() {
  const { done } = attempt({ format: null, match: 'standard' })
  const head = element('tr', {}, ...['Format', ...MATCHES].map(name => element('th', { scope: 'col' }, name)))
  const rows = core.textFormats().map(format => tableRow(format))
  const own = rows.filter(({ reads }) => reads).map(({ made }) => made)
  const others = rows.filter(({ reads }) => !reads).map(({ made }) => made)
  table.replaceChildren(
    element('h3', {}, 'Each format and tolerance'),
    element('table', {}, element('thead', {}, head), element('tbody', {}, tableRow(null, done?.format).made, ...own)),
    element(
      'details',
      {},
      element('summary', {}, `${count(others.length, 'format')} that cannot read the reply`),
      element('table', {}, element('tbody', {}, ...others)),
    ),
  )
}

function showConversions(done) {
  conversions.replaceChildren()
  if (!done || done.text === fields.file.value) return
  const path = fields.path.value || 'file'
  const diff = core.diff(fields.file.value, done.text)
  const shown = core.printFormats().map(format => {
    const text = element('pre', {})
    const made = element('details', {}, element('summary', {}, format), text)
    made.addEventListener('toggle', () => {
      try {
        text.textContent = diff.toPatch(path, format)
      } catch (error) {
        text.textContent = String(error)
      }
    })
    return made
  })
  conversions.append(element('h3', {}, 'The same change in other formats'), ...shown)
}

function update() {
  showTable()
  showOutcome()
}

let waiting
function updateSoon() {
  clearTimeout(waiting)
  waiting = setTimeout(update, PAUSE_MS)
}

function choose(index) {
  const example = EXAMPLES[index]
  fields.example.selectedIndex = index
  for (const name of ['path', 'file', 'reply']) fields[name].value = example[name]
  selected = { format: null, match: 'standard' }
  update()
}

async function start() {
  const place = document.getElementById('try')
  core = await load()
  fields.example.append(...EXAMPLES.map(({ name }) => element('option', {}, name)))
  const label = (text, field) => element('label', {}, element('span', {}, text), field)
  place.replaceChildren(
    element('div', { className: 'row' }, label('Example', fields.example), label('Path', fields.path)),
    element('div', { className: 'row' }, label('The file', fields.file), label('The model’s reply', fields.reply)),
    outcome,
    table,
    conversions,
  )
  fields.example.addEventListener('change', () => choose(fields.example.selectedIndex))
  for (const name of ['path', 'file', 'reply']) fields[name].addEventListener('input', updateSoon)
  // The book's own keys, such as those that turn pages, are not for text fields.
  for (const field of Object.values(fields)) field.addEventListener('keydown', event => event.stopPropagation())
  choose(0)
}

start().catch(error => {
  document.getElementById('try').textContent = `The playground could not start: ${error.message}`
})
