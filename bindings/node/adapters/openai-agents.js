// OpenAI Agents SDK: the editor of `apply_patch`, and function tools.
import { applyPatchTool as sdkApplyPatchTool, tool as sdkTool } from '@openai/agents'
import { OpenQuestions } from './approval.js'

const VERBS = { create_file: 'Add', update_file: 'Update', delete_file: 'Delete' }

/** The whole patch of an operation, whose `diff` is only its body. */
export function patchInput({ type, path, diff, moveTo }) {
  const lines = [`*** ${VERBS[type]} File: ${path}`]
  if (moveTo) lines.push(`*** Move to: ${moveTo}`)
  if (diff && type !== 'delete_file') lines.push(diff.replace(/\n$/, ''))
  return { input: ['*** Begin Patch', ...lines, '*** End Patch', ''].join('\n'), format: 'apply_patch' }
}

/** An `Editor`: operations of a hosted `apply_patch`, applied to the files of a session. */
export class PatchEditor {
  #session
  #questions = new OpenQuestions()

  constructor(session) {
    this.#session = session
  }

  async #apply(operation) {
    const input = patchInput(operation)
    const session = this.#questions.approved(this.#session, input.input)
    const reply = await session.call('apply', input)
    return { status: reply.ok ? 'completed' : 'failed', output: reply.text }
  }

  createFile(operation) {
    return this.#apply(operation)
  }

  updateFile(operation) {
    return this.#apply(operation)
  }

  deleteFile(operation) {
    return this.#apply(operation)
  }

  /** True if a rule asks for approval. It holds for the change of the files as they are now. */
  needsApproval(operation) {
    const input = patchInput(operation)
    return this.#questions.needed(this.#session, input.input, 'apply', input)
  }
}

/** The hosted tool `apply_patch` over the files of a session; rules that ask interrupt the run for an approval. */
export function applyPatchTool(session) {
  const editor = new PatchEditor(session)
  return sdkApplyPatchTool({ editor, needsApproval: (_, operation) => editor.needsApproval(operation) })
}

/** The tools of a profile as function tools; rules that ask interrupt the run for an approval. */
export function functionTools(session, profile = 'default') {
  const questions = new OpenQuestions()
  return session.tools(profile).map(({ name, description, inputSchema, readOnly }) =>
    sdkTool({
      name,
      description,
      parameters: { required: [], ...inputSchema, additionalProperties: true },
      // Strict schemas have no optional fields.
      strict: false,
      needsApproval: async (_, input, id) => !readOnly && questions.needed(session, id, name, input, profile),
      execute: async (input, _, details) => {
        const approved = questions.approved(session, details?.toolCall?.callId)
        return (await approved.call(name, input, { profile, signal: details?.signal })).text
      },
    }),
  )
}
