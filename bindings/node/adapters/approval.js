// Questions to a person that calls end with, until the call is repeated with the answer.

/** Calls a tool; if a rule asks for approval, asks, and calls it again with the answer. */
export async function callTool(session, tool, input, { profile, approve, signal } = {}) {
  const options = { profile, signal: signal ?? undefined }
  const reply = await session.call(tool, input, options)
  if (reply.question === null || approve === undefined) return reply
  const { seal } = reply.question
  const answered = (await approve(reply.question)) ? session.approved(seal) : session.denied(seal)
  return answered.call(tool, input, options)
}

// A question that nobody answered is dropped when there are that many newer ones.
const OPEN_MAX = 1000

/** Seals of questions by the call that waits for the answer. */
export class OpenQuestions {
  #seals = new Map()

  /** Returns the session with the approval of the call's question, if it has one. */
  approved(session, call) {
    const seal = this.#seals.get(call)
    this.#seals.delete(call)
    return seal === undefined ? session : session.approved(seal)
  }

  /** True if the call would end with a question, which is kept. Nothing is written. */
  async needed(session, call, tool, input, profile) {
    const planned = await session.planning().call(tool, input, { profile })
    if (!planned.ok || !asks(planned.data)) return false
    // A rule asks before this call is written, so it only returns the question.
    const { question } = await session.call(tool, input, { profile })
    if (question === null) return false
    for (const oldest of this.#seals.keys()) {
      if (this.#seals.size < OPEN_MAX) break
      this.#seals.delete(oldest)
    }
    this.#seals.set(call, question.seal)
    return true
  }
}

const asks = data => 'asks' in data || (data.files ?? []).some(file => 'asks' in file)

/** The images of a reply. */
export function images(reply) {
  const shown = (reply.data.attachments ?? []).filter(({ data, mediaType }) => data && mediaType?.startsWith('image/'))
  return shown.map(({ data, mediaType }) => ({ data, mediaType }))
}
