import type { Tool } from 'ai'
import type { Session } from '../index.js'
import type { Approve } from './approval.js'

/** The output of a tool. The model receives its text, as an error if it is not `ok`. */
export interface ToolOutput {
  ok: boolean
  text: string
  images: { data: string; mediaType: string }[]
}

/** The tools of a profile, by name, for `generateText` and `streamText`. */
export declare function tools(
  session: Session,
  profile?: string,
  options?: { approve?: Approve },
): Record<string, Tool<Record<string, unknown>, ToolOutput>>

/** `execute` for `anthropic.tools.textEditor_20250728`. */
export declare function textEditor(
  session: Session,
  options?: { approve?: Approve },
): (input: Record<string, any>, options?: { abortSignal?: AbortSignal }) => Promise<string>

/** `execute` for `openai.tools.applyPatch`. */
export declare function applyPatch(
  session: Session,
  options?: { approve?: Approve },
): (
  input: { operation: { type: 'create_file' | 'update_file' | 'delete_file'; path: string; diff?: string } },
  options?: { abortSignal?: AbortSignal },
) => Promise<{ status: 'completed' | 'failed'; output: string }>
