// Loads the native module from the package of this platform, which npm installs as an optional dependency.
import { createRequire } from 'node:module'

const require = createRequire(import.meta.url)
const { version } = require('./package.json')

/** The part of the package's name that says which C library the platform has. */
function library() {
  if (process.platform !== 'linux') return ''
  const { report } = process
  // Otherwise a report looks up the names of all open connections.
  const network = report.excludeNetwork
  report.excludeNetwork = true
  const glibc = report.getReport().header.glibcVersionRuntime
  report.excludeNetwork = network
  return glibc ? '-gnu' : '-musl'
}

function load() {
  const platform = `${process.platform}-${process.arch}${library()}`
  const name = `@emendate/node-${platform}`
  try {
    const found = require(`${name}/package.json`).version
    if (found !== version) throw new Error(`emendate ${version} needs ${name} ${version}, but ${found} is installed.`)
    return require(name)
  } catch (cause) {
    const advice =
      `emendate has no native module for ${platform}, or npm skipped ${name} because of --omit=optional. ` +
      'For functions on text, the package @emendate/core works on every platform.'
    throw cause.code === 'MODULE_NOT_FOUND' ? new Error(advice, { cause }) : cause
  }
}

export const native = load()

/** The name of a method of sessions for adapters: the session with errors that name the tools of a profile. */
export const FOR_PROFILE = Symbol('forProfile')

/** The name of a method of sessions for adapters: the decoded text of a file. */
export const DECODED_TEXT = Symbol('decodedText')
