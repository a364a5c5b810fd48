// Tests of the package in a page of Chromium, and in a worker of it.
import assert from 'node:assert/strict'
import test from 'node:test'
import { launch, serve } from './serve.js'

const PAGES = {
  '/page.html': '<!doctype html><title>test</title>',
  '/worker.js': `
    import { load } from './index.js'
    const core = await load()
    onmessage = ({ data }) => postMessage(core.edit(...data).text)
    postMessage('ready')`,
}

test('the package works in a page and in a worker', async t => {
  const { address, end } = await serve(process.env.EMEND_SERVED, PAGES)
  t.after(end)
  const browser = await launch()
  t.after(() => browser.close())
  const page = await browser.newPage()
  await page.goto(`${address}/page.html`)
  const inPage = await page.evaluate(async () => {
    const { load } = await import('/index.js')
    const core = await load()
    const edited = core.edit('a = “1”\n', 'a = "1"', 'a = 2')
    let refusal
    try {
      core.edit('a\na\n', 'a', 'b')
    } catch (error) {
      refusal = [error.name, error.code, String(error)]
    }
    const big = 'x = 1\n'.repeat(200_000)
    return { edited, refusal, length: core.edit(`${big}y\n`, 'y', 'z').text.length }
  })
  assert.equal(inPage.edited.text, 'a = 2\n')
  assert.deepEqual(inPage.refusal.slice(0, 2), ['MatchError', 'match.ambiguous'])
  assert.match(inPage.refusal[2], /Next: /)
  assert.equal(inPage.length, 1_200_002)

  const inWorker = await page.evaluate(async () => {
    const worker = new Worker('/worker.js', { type: 'module' })
    const next = () => new Promise((resolve, reject) => Object.assign(worker, { onmessage: resolve, onerror: reject }))
    await next()
    const reply = next()
    worker.postMessage(['one\n', 'one', 'two'])
    return (await reply).data
  })
  assert.equal(inWorker, 'two\n')
})
