#!/usr/bin/env node
// Starts the command of the package for this platform, with the same streams, signals and exit status.
import { spawn } from 'node:child_process'
import { createRequire } from 'node:module'
import { constants } from 'node:os'
import { isatty } from 'node:tty'

const require = createRequire(import.meta.url)

function program() {
  const name = `@emendate/cli-${process.platform}-${process.arch}`
  try {
    return require.resolve(`${name}/${process.platform === 'win32' ? 'emend.exe' : 'emend'}`)
  } catch {
    console.error(`emend: there is no command for this platform, or npm was run with --omit=optional: ${name} is missing.`)
    process.exit(1)
  }
}

const child = spawn(program(), process.argv.slice(2), { stdio: 'inherit' })
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT']) {
  // The keys of a terminal reach the command, too, for which a second signal could mean something else.
  // `process.stdin` would make the stream non-blocking for the command as well.
  const fromKeys = isatty(0) && (signal === 'SIGINT' || signal === 'SIGQUIT')
  process.on(signal, () => fromKeys || child.kill(signal))
}
child.on('error', error => {
  console.error(`emend: ${error.message}`)
  process.exit(1)
})
child.on('exit', (code, signal) => {
  if (signal === null) process.exit(code)
  process.exit(128 + constants.signals[signal])
})
