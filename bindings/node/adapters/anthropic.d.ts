import type { BetaRunnableTool } from '@anthropic-ai/sdk/lib/tools/BetaRunnableTool'
import type { BetaMemoryTool20250818, BetaMemoryTool20250818Command } from '@anthropic-ai/sdk/resources/beta'
import type { Session, Workspace } from '../index.js'
import type { Approve } from './approval.js'

/**
 * Claude's text editor (`text_editor_20250728`) over the files of a session. A refused command is a `ToolError`. A view of
 * more than `maxCharacters` ends earlier and says how to go on.
 */
export declare function textEditor(
  session: Session,
  options?: { approve?: Approve; maxCharacters?: number },
): BetaRunnableTool

/** The tools of a profile as tools of the runner. */
export declare function tools(session: Session, profile?: string, options?: { approve?: Approve }): BetaRunnableTool[]

/** The commands of the memory tool over a workspace, whose first directory is `/memories`. */
export declare class MemoryCommands {
  constructor(workspace: Workspace, session?: string)
  /** The session, through which every change can be undone. */
  readonly session: Session
  view(command: { command: 'view'; path: string; view_range?: number[] }): Promise<string>
  create(command: { command: 'create'; path: string; file_text: string }): Promise<string>
  str_replace(command: { command: 'str_replace'; path: string; old_str: string; new_str: string }): Promise<string>
  insert(command: { command: 'insert'; path: string; insert_line: number; insert_text: string }): Promise<string>
  delete(command: { command: 'delete'; path: string }): Promise<string>
  rename(command: { command: 'rename'; old_path: string; new_path: string }): Promise<string>
}

/** The memory tool (`memory_20250818`) over a workspace. */
export declare function memory(
  workspace: Workspace,
  options?: { session?: string } & Omit<BetaMemoryTool20250818, 'type' | 'name'>,
): BetaRunnableTool<BetaMemoryTool20250818Command>
