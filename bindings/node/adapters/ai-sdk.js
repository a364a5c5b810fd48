// Vercel AI SDK: tools, and the functions that the editors of providers execute.
import { jsonSchema, tool as sdkTool } from 'ai'
import { EmendError } from '../errors.js'
import { callTool, images } from './approval.js'
import { FORMAT, operationPatch } from './patches.js'

const EDITOR = 'str_replace_based_edit_tool'

/** The tools of a profile, by name. */
export function tools(session, profile = 'default', { approve } = {}) {
  const made = ({ name, description, inputSchema }) => [
    name,
    sdkTool({
      description,
      inputSchema: jsonSchema(inputSchema),
      execute: async (input, { abortSignal }) => {
        const reply = await callTool(session, name, input, { profile, approve, signal: abortSignal })
        return { ok: reply.ok, text: reply.text, images: images(reply) }
      },
      toModelOutput: ({ output }) => modelOutput(output),
    }),
  ]
  return Object.fromEntries(session.tools(profile).map(made))
}

function modelOutput({ ok, text, images: shown }) {
  if (!ok) return { type: 'error-text', value: text }
  if (shown.length === 0) return { type: 'text', value: text }
  const files = shown.map(({ data, mediaType }) => ({ type: 'file', data: { type: 'data', data }, mediaType }))
  return { type: 'content', value: [{ type: 'text', text }, ...files] }
}

/** `execute` for `anthropic.tools.textEditor_20250728`. */
export function textEditor(session, { approve } = {}) {
  return async (input, { abortSignal } = {}) => {
    const reply = await callTool(session, EDITOR, input, { profile: 'anthropic', approve, signal: abortSignal })
    return reply.text
  }
}

/** `execute` for `openai.tools.applyPatch`. */
export function applyPatch(session, { approve } = {}) {
  return async ({ operation }, { abortSignal } = {}) => {
    let input
    try {
      input = { input: await operationPatch(session, operation), format: FORMAT }
    } catch (error) {
      if (!(error instanceof EmendError)) throw error
      return { status: 'failed', output: String(error) }
    }
    // A model with the hosted tool may have no other.
    const options = { profile: 'hosted_apply_patch', approve, signal: abortSignal }
    const reply = await callTool(session, 'apply_patch', input, options)
    return { status: reply.ok ? 'completed' : 'failed', output: reply.text }
  }
}
