// Mastra: tools.
import { createTool } from '@mastra/core/tools'
import { callTool, images } from './approval.js'

/** The tools of a profile, by name. */
export function tools(session, profile = 'default', { approve } = {}) {
  const made = ({ name, description, inputSchema }) => [
    name,
    createTool({
      id: name,
      description,
      inputSchema,
      execute: async (input, context) => {
        const reply = await callTool(session, name, input, { profile, approve, signal: context?.abortSignal })
        return { ok: reply.ok, text: reply.text, images: images(reply) }
      },
      toModelOutput: ({ ok, text }) => ({ type: ok ? 'text' : 'error-text', value: text }),
    }),
  ]
  return Object.fromEntries(session.tools(profile).map(made))
}
