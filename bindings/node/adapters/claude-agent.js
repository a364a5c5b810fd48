// Claude Agent SDK: a server in this process.
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js'
import { CallToolRequestSchema, ListToolsRequestSchema } from '@modelcontextprotocol/sdk/types.js'
import { callTool, images } from './approval.js'

const NAME = 'emend'
const REPLACED = ['Read', 'Edit', 'MultiEdit', 'Write', 'NotebookEdit']

/** The description of a tool for clients. */
function described({ name, title, description, inputSchema, readOnly, destructive, idempotent }) {
  // Fields that the schema lacks are the engine's to judge, which knows what they mean.
  const { additionalProperties, ...schema } = inputSchema
  const annotations = {
    title,
    readOnlyHint: readOnly,
    destructiveHint: destructive,
    idempotentHint: idempotent,
    openWorldHint: false,
  }
  return { name, title, description, inputSchema: schema, annotations }
}

/** A server with the tools of a profile. */
export function server(session, profile = 'claude', { name = NAME, approve } = {}) {
  const instance = new McpServer({ name, version: '1.0.0' }, { capabilities: { tools: {} } })
  // Schemas of the SDK's own `tool` are those of Zod; these tools have JSON schemas.
  instance.server.setRequestHandler(ListToolsRequestSchema, () => ({ tools: session.tools(profile).map(described) }))
  instance.server.setRequestHandler(CallToolRequestSchema, async ({ params }, { signal }) => {
    const reply = await callTool(session, params.name, params.arguments ?? {}, { profile, approve, signal })
    const shown = images(reply).map(({ data, mediaType }) => ({ type: 'image', data, mimeType: mediaType }))
    return { content: [{ type: 'text', text: reply.text }, ...shown], isError: !reply.ok }
  })
  return { type: 'sdk', name, instance }
}

/** Options of `query` that replace the client's own tools for files by those of a session. */
export function options(session, profile = 'claude', { approve } = {}) {
  return {
    mcpServers: { [NAME]: server(session, profile, { approve }) },
    allowedTools: session.tools(profile).map(({ name }) => `mcp__${NAME}__${name}`),
    disallowedTools: [...REPLACED],
  }
}
