// Tests of the playground in the built book. Pictures of it are kept beside the book.
import assert from 'node:assert/strict'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import test from 'node:test'
import { launch, serve } from './serve.js'

const BOOK = process.env.EMEND_SERVED
const PICTURES = join(BOOK, '../playground')

/** Opens the playground, and fails the test for errors of the page and for requests to anywhere else. */
async function opened(t, options = {}) {
  const { address, end } = await serve(BOOK)
  t.after(end)
  const browser = await launch()
  t.after(() => browser.close())
  const page = await browser.newPage(options)
  const faults = []
  page.on('pageerror', error => faults.push(String(error)))
  page.on('request', request => {
    if (!request.url().startsWith(address) && !request.url().startsWith('data:')) faults.push(request.url())
  })
  await page.goto(`${address}/docs/playground.html`)
  await page.waitForSelector('#try .outcome h3')
  return { page, faults }
}

const texts = (page, selector) => page.locator(selector).allTextContents()

test('every example shows its outcome', async t => {
  await mkdir(PICTURES, { recursive: true })
  const { page, faults } = await opened(t)
  const names = await texts(page, '#try option')
  for (const name of names) {
    await page.selectOption('#try select', name)
    const [head] = await texts(page, '#try .outcome h3')
    assert.match(head, name.includes('refused') ? /^Refused: / : /^Applied /, name)
    if (name.includes('refused')) {
      assert.match((await texts(page, '#try .refusal')).join(), /Next: /)
    } else {
      assert.ok((await page.locator('#try .diff .added').count()) > 0, name)
      assert.ok((await page.locator('#try .diff mark').count()) > 0, name)
    }
    const slug = name.replaceAll(/\W+/g, '-')
    await page.locator('#try').screenshot({ path: join(PICTURES, `${slug}.png`) })
  }
  assert.ok(names.length >= 8)
  assert.deepEqual(faults, [])
})

test('a changed reply and a chosen cell change the outcome', async t => {
  const { page, faults } = await opened(t)
  await page.fill('[aria-label="The file"]', 'one\ntwo\n')
  await page.fill('[aria-label="The model\'s reply"]', '@@\n-one\n+uno\n')
  await page.waitForFunction(() => document.querySelector('#try .diff .added code')?.textContent === 'uno')
  assert.deepEqual(await texts(page, '#try .diff .removed code'), ['one'])
  assert.deepEqual(await texts(page, '#try .diff .same code'), ['two'])
  assert.match((await texts(page, '#try tbody th'))[0], /^detected: unified_diff$/)
  const row = page.locator('#try tr', { hasText: 'search_replace' }).first()
  await page.locator('#try .table summary').click()
  await row.locator('button').first().click()
  assert.deepEqual(await texts(page, '#try .outcome h3'), ['Refused: edit.unparsable'])
  // Markup in a file is text.
  await page.fill('[aria-label="The file"]', '<img src=x onerror=alert(1)>\none\n')
  await page.waitForTimeout(400)
  assert.equal(await page.locator('#try img').count(), 0)
  assert.deepEqual(faults, [])
})

test('the page fits a phone, in the light and in the dark', async t => {
  for (const colorScheme of ['light', 'dark']) {
    const { page, faults } = await opened(t, { viewport: { width: 390, height: 844 }, colorScheme })
    const [scroll, width] = await page.evaluate(() => [document.documentElement.scrollWidth, innerWidth])
    assert.ok(scroll <= width, `the page is ${scroll} wide on a screen of ${width}`)
    await page.screenshot({ path: join(PICTURES, `phone-${colorScheme}.png`), fullPage: true })
    assert.deepEqual(faults, [])
  }
})
