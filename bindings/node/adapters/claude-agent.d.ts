import type { McpSdkServerConfigWithInstance } from '@anthropic-ai/claude-agent-sdk'
import type { Session } from '../index.js'
import type { Approve } from './approval.js'

/** A server with the tools of a profile. */
export declare function server(
  session: Session,
  profile?: string,
  options?: { name?: string; approve?: Approve },
): McpSdkServerConfigWithInstance

/** Options of `query` that replace the client's own tools for files by those of a session. */
export declare function options(
  session: Session,
  profile?: string,
  options?: { approve?: Approve },
): {
  mcpServers: Record<string, McpSdkServerConfigWithInstance>
  allowedTools: string[]
  disallowedTools: string[]
}
