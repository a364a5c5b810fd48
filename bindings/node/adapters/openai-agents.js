// OpenAI Agents SDK: the editor of `apply_patch`, and function tools.
import { applyPatchTool as sdkApplyPatchTool, tool as sdkTool } from '@openai/agents'
import { EmendError } from '../errors.js'
import { OpenQuestions } from './approval.js'
import { FORMAT, operationPatch } from './patches.js'

// A model with the hosted tool may have no other.
const PROFILE = 'hosted_apply_patch'
const TOOL = 'apply_patch'

/** The result of an operation whose patch is refused. */
function refused(error) {
  if (!(error instanceof EmendError)) throw error
  return { status: 'failed', output: String(error) }
}

/** An `Editor`: operations of a hosted `apply_patch`, applied to the files of a session. */
export class PatchEditor {
  #session
  #questions = new OpenQuestions()

  constructor(session) {
    this.#session = session
  }

  async #apply(operation) {
    let input
    try {
      input = { input: await operationPatch(this.#session, operation), format: FORMAT }
    } catch (error) {
      return refused(error)
    }
    const session = this.#questions.approved(this.#session, input.input)
    const reply = await session.call(TOOL, input, { profile: PROFILE })
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
  async needsApproval(operation) {
    let input
    try {
      input = { input: await operationPatch(this.#session, operation), format: FORMAT }
    } catch (error) {
      refused(error)
      return false
    }
    return this.#questions.needed(this.#session, input.input, TOOL, input, PROFILE)
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
