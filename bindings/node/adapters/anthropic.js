// Anthropic SDK: the text editor and the memory tool, for the tool runner.
import { betaMemoryTool } from '@anthropic-ai/sdk/helpers/beta/memory'
import { ToolError } from '@anthropic-ai/sdk/lib/tools/ToolError'
import { callTool } from './approval.js'
import { shown } from './paths.js'

const PROFILE = 'anthropic'
const EDITOR = 'str_replace_based_edit_tool'
const MEMORY = '/memories'
const LISTED_MAX = 100_000

function text(reply) {
  if (!reply.ok) throw new ToolError(reply.text)
  return reply.text
}

/** Claude's text editor (`text_editor_20250728`) over the files of a session. */
export function textEditor(session, { approve, maxCharacters, ...extra } = {}) {
  return {
    ...extra,
    type: 'text_editor_20250728',
    name: EDITOR,
    ...(maxCharacters === undefined ? {} : { max_characters: maxCharacters }),
    parse: input => input,
    run: async (input, context) =>
      text(await callTool(session, EDITOR, input, { profile: PROFILE, approve, signal: context?.signal })),
  }
}

/** The tools of a profile as tools of the runner. */
export function tools(session, profile = 'default', { approve } = {}) {
  return session.tools(profile).map(({ name, description, inputSchema }) => ({
    type: 'custom',
    name,
    description,
    input_schema: inputSchema,
    parse: input => input,
    run: async (input, context) => text(await callTool(session, name, input, { profile, approve, signal: context?.signal })),
  }))
}

/** A path that a patch can name: its reader drops blanks at the ends of a name, and ends it with the line. */
function plain(path) {
  if (/[\p{Cc}\u2028\u2029]/u.test(path) || path.split('/').some(name => name !== name.trim())) {
    throw new ToolError(`Names of memories have no blanks at their ends and no control characters: ${JSON.stringify(path)}.`)
  }
  return path
}

/** The commands of the memory tool over a workspace, whose first directory is `/memories`. */
export class MemoryCommands {
  #root

  constructor(workspace, session = 'memory') {
    const [root] = workspace.roots
    // In memory, the directory has the name that the model knows.
    this.#root = root === '/' ? MEMORY : root
    this.session = workspace.session(session, { unread: 'allow' })
  }

  /** The path of a memory. Those that lead out of the workspace are refused by the engine. */
  #path(path) {
    if ((path !== MEMORY && !path.startsWith(`${MEMORY}/`)) || path.split('/').includes('..')) {
      throw new ToolError(`Paths of memories begin with ${MEMORY} and stay below it. ${path} does not.`)
    }
    return this.#root + plain(path).slice(MEMORY.length).replace(/\/+$/, '')
  }

  #done(reply) {
    const said = shown(reply.text, this.#root, MEMORY)
    if (!reply.ok) throw new ToolError(said)
    return said
  }

  async #edit({ command, path }, fields) {
    return this.#done(await this.session.call('text_editor', { command, path: this.#path(path), ...fields }))
  }

  /** The files at a path: the file itself, or those of the directory. */
  async #files(named, required = true) {
    const path = this.#path(named)
    if (required && path === this.#root) throw new ToolError(`${MEMORY} itself cannot be deleted or renamed.`)
    const listed = await this.session.call('list', { path, hidden: true, no_ignore: true, limit: LISTED_MAX })
    let files = []
    if (listed.ok) files = listed.data.entries.map(entry => `${path}/${entry}`)
    else if ((await this.session.workspace.readBytes(path)) !== null) files = [path]
    if (required && files.length === 0) throw new ToolError(`There is nothing at ${named}.`)
    return files
  }

  async #patch(sections) {
    const input = `*** Begin Patch\n${sections.join('')}*** End Patch\n`
    this.#done(await this.session.call('apply', { input, format: 'apply_patch' }))
  }

  async view(command) {
    if (command.path.replace(/\/+$/, '') === MEMORY && (await this.#files(MEMORY, false)).length === 0) {
      return `There are no memories in ${MEMORY}.`
    }
    return this.#edit(command, command.view_range ? { view_range: command.view_range } : {})
  }

  async create(command) {
    return this.#edit(command, { file_text: command.file_text, overwrite: false })
  }

  async str_replace(command) {
    return this.#edit(command, { old_str: command.old_str, new_str: command.new_str })
  }

  async insert(command) {
    return this.#edit(command, { insert_line: command.insert_line, insert_text: command.insert_text })
  }

  async delete({ path }) {
    await this.#patch((await this.#files(path)).map(file => `*** Delete File: ${plain(file)}\n`))
    return `Deleted ${path}.`
  }

  async rename({ old_path, new_path }) {
    const [old, to] = [this.#path(old_path), this.#path(new_path)]
    const files = await this.#files(old_path)
    await this.#patch(files.map(file => `*** Update File: ${plain(file)}\n*** Move to: ${to}${file.slice(old.length)}\n`))
    return `Renamed ${old_path} to ${new_path}.`
  }
}

/** The memory tool (`memory_20250818`) over a workspace. */
export function memory(workspace, { session, ...extra } = {}) {
  return betaMemoryTool(new MemoryCommands(workspace, session), extra)
}
