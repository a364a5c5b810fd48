// deepagents: a backend.
import { posix } from 'node:path'
import { DECODED_TEXT, FOR_PROFILE } from '../loader.js'
import { FORMAT, patchOf, requireWhole } from './patches.js'
import { shown, shownError } from './paths.js'

const LISTED_MAX = 100_000
const READ_LINES_DEFAULT = 500
// The profile with the names of the tools of deepagents.
const PROFILE = 'deepagents'

const lineEnds = text => new Set(text.match(/\r\n|\n|\r/g) ?? [])

/** True if a write of other bytes would keep the encoding or the line ends of a file, so that it would not have these bytes. */
function isConverted(before, after) {
  if (before.equals(after)) return false
  const [old, text] = [before.toString(), after.toString()]
  if (!Buffer.from(old).equals(before) || old.startsWith('\ufeff') !== text.startsWith('\ufeff')) return true
  const [had, has] = [lineEnds(old), lineEnds(text)]
  return had.size > 0 && has.size > 0 && new Set([...had, ...has]).size > 1
}

/** The files of a session as a backend. Paths begin with `/`, which is the first directory of the workspace. */
export class EmendBackend {
  #session
  #root

  constructor(session) {
    this.#session = session[FOR_PROFILE](PROFILE)
    this.#root = session.workspace.roots[0].replace(/\/$/, '')
  }

  #path(path) {
    requireWhole(path)
    return `${this.#root}/${path.replace(/^\/+/, '')}`
  }

  /** Runs a call, and returns an error of the engine as the protocol does. */
  async #result(call) {
    try {
      return await call()
    } catch (error) {
      if (typeof error.code !== 'string' || typeof error.next !== 'string') throw error
      return { error: shownError(error, this.#root, '') }
    }
  }

  async #listed(path, fields) {
    const input = { path: this.#path(path), hidden: true, no_ignore: true, limit: LISTED_MAX, ...fields }
    const reply = await this.#session.call('ls', input, { profile: PROFILE })
    if (reply.error !== null) throw reply.error
    const base = posix.normalize(`/${path.replace(/^\/+|\/+$/g, '')}`).replace(/\/$/, '')
    return { paths: reply.data.entries.map(entry => `${base}/${entry}`), truncated: Boolean(reply.data.truncated) }
  }

  ls(path) {
    return this.#result(async () => {
      const { paths } = await this.#listed(path, { depth: 1 })
      return { files: paths.map(entry => ({ path: entry, is_dir: entry.endsWith('/') })) }
    })
  }

  glob(pattern, path = '/') {
    return this.#result(async () => {
      if (pattern.split('/').includes('..')) return { error: 'A pattern must not contain `..`.' }
      const { paths, truncated } = await this.#listed(path ?? '/', { glob: [pattern.replace(/^\/+/, '')] })
      return { files: paths.map(entry => ({ path: entry, is_dir: false })), ...(truncated ? { truncated } : {}) }
    })
  }

  grep(pattern, path, glob, maxCount) {
    return this.#result(() => this.#found(pattern, path ?? '/', glob, maxCount))
  }

  async #found(pattern, path, glob, maxCount) {
    const limit = maxCount == null ? LISTED_MAX : Math.max(maxCount, 1)
    const input = { pattern, path: this.#path(path), literal: true, hidden: true, limit }
    const reply = await this.#session.call('grep', glob ? { ...input, glob: [glob] } : input, { profile: PROFILE })
    if (reply.error !== null) throw reply.error
    const matches = []
    for (const { filePath, hits } of reply.data.files ?? []) {
      // Hits are lines of the decoded text.
      const lines = ((await this.#session[DECODED_TEXT](filePath)) ?? '').split('\n')
      for (const line of hits.filter(line => line <= lines.length)) {
        matches.push({ path: shown(filePath, this.#root, ''), line, text: lines[line - 1] })
      }
    }
    const kept = maxCount == null ? matches : matches.slice(0, maxCount)
    return { matches: kept, ...(reply.data.truncated || kept.length < matches.length ? { truncated: true } : {}) }
  }

  /** Reads lines; they count as read. */
  read(filePath, offset = 0, limit = READ_LINES_DEFAULT) {
    return this.#result(async () => {
      const path = this.#path(filePath)
      const start = Math.max(offset, 0) + 1
      try {
        let read = start === 1 ? await this.#session.read(path) : undefined
        if (read === undefined || read.totalLines > limit) {
          read = await this.#session.read(path, { start, end: start + Math.max(limit, 1) - 1 })
        }
        const { text, totalLines, start: startLine, end: endLine } = read
        const next = endLine < totalLines ? { nextOffset: endLine } : {}
        return { content: text, mimeType: 'text/plain', totalLines, startLine, endLine, ...next }
      } catch (error) {
        if (error.code !== 'content.binary') throw error
        const content = (await this.#session.workspace.readBytes(path)) ?? Buffer.alloc(0)
        return { content, mimeType: 'application/octet-stream' }
      }
    })
  }

  readRaw(filePath) {
    return this.#result(async () => {
      const bytes = await this.#session.workspace.readBytes(this.#path(filePath))
      if (bytes === null) return { error: `There is no file ${filePath}.` }
      const text = bytes.toString()
      const isText = !bytes.includes(0) && Buffer.from(text).equals(bytes)
      const now = new Date().toISOString()
      const mimeType = isText ? 'text/plain' : 'application/octet-stream'
      return { data: { content: isText ? text : bytes, mimeType, created_at: now, modified_at: now } }
    })
  }

  write(filePath, content) {
    return this.#result(async () => {
      requireWhole(content)
      await this.#session.write(this.#path(filePath), content)
      return { path: filePath, filesUpdate: null }
    })
  }

  edit(filePath, oldString, newString, replaceAll = false) {
    return this.#result(async () => {
      requireWhole(oldString, newString)
      const done = await this.#session.edit(this.#path(filePath), oldString, newString, { replaceAll })
      return { path: filePath, filesUpdate: null, occurrences: done.places }
    })
  }

  /** Deletes a file, or all files below a directory: all or none. */
  delete(filePath) {
    return this.#result(async () => {
      const path = this.#path(filePath)
      const isFile = await this.#isFile(path)
      const files = isFile ? [path] : (await this.#listed(filePath)).paths.map(entry => this.#path(entry))
      if (files.length === 0) return { error: `There are no files in ${filePath}.` }
      const patch = await patchOf(files.map(file => ({ verb: 'Delete', path: file })))
      await this.#session.apply(patch, { format: FORMAT })
      return { path: filePath, filesUpdate: null }
    })
  }

  async #isFile(path) {
    try {
      return (await this.#session.workspace.readBytes(path)) !== null
    } catch {
      return false
    }
  }

  /**
   * Writes files of the program; texts in UTF-8 only. A file in whose encoding or line ends its new content would be
   * converted is not replaced.
   */
  async uploadFiles(files) {
    const done = []
    for (const [path, content] of files) {
      const result = await this.#result(async () => {
        const full = this.#path(path)
        const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(content)
        if (await this.#isFile(full)) {
          await this.#session.read(full)
          const before = await this.#session.workspace.readBytes(full)
          if (before !== null && isConverted(before, Buffer.from(content))) return { error: 'It would be converted.' }
        }
        await this.#session.write(full, text)
        return { error: null }
      }).catch(() => ({ error: 'invalid_path' }))
      done.push({ path, error: result.error === null ? null : 'permission_denied' })
    }
    return done
  }

  async downloadFiles(paths) {
    const one = async path => {
      const result = await this.#result(async () => ({ bytes: await this.#session.workspace.readBytes(this.#path(path)) }))
      if (result.error !== undefined) return { path, content: null, error: 'permission_denied' }
      return { path, content: result.bytes, error: result.bytes === null ? 'file_not_found' : null }
    }
    return Promise.all(paths.map(one))
  }
}
