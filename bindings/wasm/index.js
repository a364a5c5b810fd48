// @emendate/core: edits of text in Node, in workers and in browsers, as WebAssembly.
import init, { initSync, __wbg_reset_state as reset, call as callModule } from './module.js'
import { errorOf } from './errors.js'
import { encoded, opened, sent, textFunctions } from './text.js'

export { AppliedFiles, TextDiff } from './text.js'
export { EmendError } from './errors.js'
export * as errors from './errors.js'

function call(name, input, options, shape) {
  const json = encoded({ ...input, options: sent(options) })
  let envelope
  try {
    envelope = callModule(name, json)
  } catch (error) {
    // After a trap the memory of the module cannot be trusted, so the next call begins with a new one.
    reset()
    const said = 'The call met a bug of Emendate and was given up.'
    throw Object.assign(errorOf({ code: 'internal.bug', message: said, evidence: '', next: '', data: {} }), {
      cause: error,
    })
  }
  return shape(opened(envelope))
}

const core = Object.freeze({
  ...textFunctions(call),
  textFormats: () => call('textFormats', {}, undefined, value => value),
  printFormats: () => call('printFormats', {}, undefined, value => value),
})

/** The default source: the module beside this file. */
async function besideThisFile() {
  const url = new URL('./module_bg.wasm', import.meta.url)
  if (url.protocol !== 'file:') return fetch(url)
  // Only Node loads modules from files, and its `fetch` does not.
  const { readFile } = await import('node:fs/promises')
  return readFile(url)
}

let loading

/** Loads the module once, and returns the functions. */
export async function load(source) {
  loading ??= (async () => {
    await init({ module_or_path: source ?? (await besideThisFile()) })
  })()
  try {
    await loading
  } catch (error) {
    loading = undefined
    throw error
  }
  return core
}

/** Loads the module from its bytes, or from a compiled one, without waiting. */
export function loadSync(module) {
  initSync({ module })
  loading = Promise.resolve()
  return core
}
