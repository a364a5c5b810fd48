// Anthropic SDK: the text editor and the memory tool, for the tool runner.
import { readdir, realpath, rmdir } from 'node:fs/promises'
import { join, sep } from 'node:path'
import { betaMemoryTool } from '@anthropic-ai/sdk/helpers/beta/memory'
import { ToolError } from '@anthropic-ai/sdk/lib/tools/ToolError'
import { EmendError } from '../errors.js'
import { callTool } from './approval.js'
import { FOR_PROFILE } from '../loader.js'
import { FORMAT, patchOf, requireWhole } from './patches.js'
import { shownError, shownReply } from './paths.js'
import { viewWindow } from './views.js'

const PROFILE = 'anthropic'
const EDITOR = 'str_replace_based_edit_tool'
const MEMORY = '/memories'
// The profile of the memory tool, and the tool.
const MEMORY_TOOL = 'memory'
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
    run: async (input, context) => {
      const options = { profile: PROFILE, approve, signal: context?.signal }
      const window = maxCharacters === undefined ? undefined : await viewWindow(session, input, maxCharacters)
      if (window === undefined) return text(await callTool(session, EDITOR, input, options))
      // Only lines that are shown count as read.
      const { start, end, last } = window
      const said = text(await callTool(session, EDITOR, { ...input, view_range: [start, end] }, options))
      const more = `Lines ${end + 1} to ${last} are not shown: a view has at most ${maxCharacters} characters.`
      return `${said.trimEnd()}\n\n${more} Go on with view_range [${end + 1}, ${last}].\n`
    },
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

/** The commands of the memory tool over a workspace, whose first directory is `/memories`. */
export class MemoryCommands {
  #inMemory
  #named
  #root

  constructor(workspace, session = 'memory') {
    const [root] = workspace.roots
    this.#inMemory = root === '/'
    // In memory, the directory has the name that the model knows.
    this.#root = this.#inMemory ? MEMORY : root
    this.session = workspace.session(session, { unread: 'allow' })
    this.#named = this.session[FOR_PROFILE](MEMORY_TOOL)
  }

  /** The path of a memory. Those that lead out of the workspace are refused by the engine. */
  #path(path) {
    try {
      requireWhole(path)
    } catch (error) {
      throw new ToolError(String(error))
    }
    if ((path !== MEMORY && !path.startsWith(`${MEMORY}/`)) || path.split('/').includes('..')) {
      throw new ToolError(`Paths of memories begin with ${MEMORY} and stay below it. ${path} does not.`)
    }
    if (/[\p{Cc}\u2028\u2029]/u.test(path) || path.split('/').some(name => name !== name.trim())) {
      // A patch cannot name these: its reader drops blanks at the ends of a name, and ends it with the line.
      const shown = JSON.stringify(path)
      throw new ToolError(`Names of memories have no blanks at their ends and no control characters: ${shown}.`)
    }
    return this.#root + path.slice(MEMORY.length).replace(/\/+$/, '')
  }

  #done(reply) {
    const said = shownReply(reply, this.#root, MEMORY)
    if (!reply.ok) throw new ToolError(said)
    return said
  }

  async #edit({ command, path }, fields) {
    const input = { command, path: this.#path(path), ...fields }
    return this.#done(await this.session.call(MEMORY_TOOL, input, { profile: MEMORY_TOOL }))
  }

  /** The files at a path: the file itself, or those of the directory. */
  async #files(named, required = true) {
    const path = this.#path(named)
    if (required && path === this.#root) throw new ToolError(`${MEMORY} itself cannot be deleted or renamed.`)
    const listed = await this.session.call('list', { path, hidden: true, no_ignore: true, limit: LISTED_MAX })
    let files = []
    if (listed.ok) files = listed.data.entries.map(entry => `${path}/${entry}`)
    else if ((await this.session.workspace.readBytes(path)) !== null) files = [path]
    if (required && files.length === 0 && !listed.ok) throw new ToolError(`There is nothing at ${named}.`)
    return files
  }

  async #patch(sections) {
    if (sections.length === 0) return
    try {
      await this.#named.apply(await patchOf(sections), { format: FORMAT })
    } catch (error) {
      if (!(error instanceof EmendError)) throw error
      throw new ToolError(shownError(error, this.#root, MEMORY))
    }
  }

  /** Removes a directory, and those in it, as far as they are empty now; files are never removed so. */
  async #removeEmpty(path) {
    if (this.#inMemory) return
    try {
      if (!(await realpath(path)).startsWith(join(this.#root, sep))) return
      const entries = await readdir(path, { withFileTypes: true })
      for (const entry of entries) if (entry.isDirectory()) await this.#removeEmpty(join(path, entry.name))
      await rmdir(path)
    } catch {
      // It is no directory, it is gone, or a file is left in it.
    }
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
    await this.#patch((await this.#files(path)).map(file => ({ verb: 'Delete', path: file })))
    await this.#removeEmpty(this.#path(path))
    return `Deleted ${path}.`
  }

  async rename({ old_path, new_path }) {
    const [old, to] = [this.#path(old_path), this.#path(new_path)]
    const files = await this.#files(old_path)
    const sections = files.map(file => ({ verb: 'Update', path: file, to: to + file.slice(old.length) }))
    for (const { to: file } of sections) {
      if (!files.includes(file) && (await this.session.workspace.readBytes(file)) !== null) {
        throw new ToolError(`There is a file at ${MEMORY}${file.slice(this.#root.length)}. Choose another name.`)
      }
    }
    await this.#patch(sections)
    await this.#removeEmpty(old)
    return `Renamed ${old_path} to ${new_path}.`
  }
}

/** The memory tool (`memory_20250818`) over a workspace. */
export function memory(workspace, { session, ...extra } = {}) {
  return betaMemoryTool(new MemoryCommands(workspace, session), extra)
}
