import type { Tool } from '@mastra/core/tools'
import type { Session } from '../index.js'
import type { Approve } from './approval.js'

/** The tools of a profile, by name. Their output has `ok`, `text` and `images`; the model receives the text. */
export declare function tools(
  session: Session,
  profile?: string,
  options?: { approve?: Approve },
): Record<string, Tool<any, any, any, any, any, any, any>>
