import type { ApplyPatchOperation, ApplyPatchResult, ApplyPatchTool, Editor, FunctionTool } from '@openai/agents'
import type { Session } from '../index.js'

/**
 * An editor of a hosted `apply_patch`. A refused operation has the status `failed` and the error as output.
 *
 * An operation changes the file of its `path` (and `moveTo`) and no other, so a program may decide by them; lines of
 * `diff` that name another file are refused.
 */
export declare class PatchEditor implements Editor {
  constructor(session: Session)
  createFile(operation: Extract<ApplyPatchOperation, { type: 'create_file' }>): Promise<ApplyPatchResult>
  updateFile(operation: Extract<ApplyPatchOperation, { type: 'update_file' }>): Promise<ApplyPatchResult>
  deleteFile(operation: Extract<ApplyPatchOperation, { type: 'delete_file' }>): Promise<ApplyPatchResult>
  /** True if a rule asks for approval. It holds for the change of the files as they are now. */
  needsApproval(operation: ApplyPatchOperation): Promise<boolean>
}

/** The hosted tool `apply_patch` over the files of a session; rules that ask interrupt the run for an approval. */
export declare function applyPatchTool(session: Session): ApplyPatchTool

/** The tools of a profile as function tools; rules that ask interrupt the run for an approval. */
export declare function functionTools(session: Session, profile?: string): FunctionTool<any, any, any>[]
