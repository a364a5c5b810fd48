// Vercel AI SDK: tools, and the functions that the editors of providers execute.
import { jsonSchema, tool as sdkTool } from 'ai'
import { callTool, images } from './approval.js'

const EDITOR = 'str_replace_based_edit_tool'
const VERBS = { create_file: 'Add', update_file: 'Update', delete_file: 'Delete' }

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
  return async ({ operation: { type, path, diff } }, { abortSignal } = {}) => {
    const body = diff && type !== 'delete_file' ? `${diff.replace(/\n$/, '')}\n` : ''
    const input = `*** Begin Patch\n*** ${VERBS[type]} File: ${path}\n${body}*** End Patch\n`
    const reply = await callTool(session, 'apply', { input, format: 'apply_patch' }, { approve, signal: abortSignal })
    return { status: reply.ok ? 'completed' : 'failed', output: reply.text }
  }
}
