// A server of the files in a folder, and a browser, for tests.
import { readFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import { extname, join, normalize } from 'node:path'
import { pathToFileURL } from 'node:url'

const TYPES = { '.css': 'text/css', '.html': 'text/html', '.js': 'text/javascript', '.wasm': 'application/wasm' }
const FLAGS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
]

/** Serves the files of a folder, and pages from an object by path. Returns the address and a function that ends it. */
export async function serve(folder, pages = {}) {
  const server = createServer(async (request, response) => {
    const path = decodeURIComponent(new URL(request.url, 'http://localhost').pathname)
    try {
      const file = path.endsWith('/') ? `${path}index.html` : path
      const body = pages[path] ?? (await readFile(join(folder, normalize(file))))
      response.writeHead(200, { 'content-type': TYPES[extname(file)] ?? 'application/octet-stream' }).end(body)
    } catch {
      response.writeHead(404).end()
    }
  })
  await new Promise(resolve => server.listen(0, '127.0.0.1', resolve))
  return { address: `http://127.0.0.1:${server.address().port}`, end: () => server.close() }
}

/** Starts the browser. */
export async function launch() {
  const driver = await import(pathToFileURL(process.env.EMEND_DRIVER).href)
  const { chromium } = driver.default ?? driver
  return chromium.launch({ executablePath: process.env.EMEND_BROWSER, args: FLAGS })
}
