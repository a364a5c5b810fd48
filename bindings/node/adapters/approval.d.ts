import type { Question } from '../index.js'

/** Shows a question to a person, whose `files` have the change of each; true if they agree. */
export type Approve = (question: Question) => boolean | Promise<boolean>
