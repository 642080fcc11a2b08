import assert from 'node:assert/strict'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before } from 'node:test'
import { brotliCompressSync } from 'node:zlib'
import { portalSections } from '../../../src/portal/sections.ts'
import { clause } from '../../support/clause.ts'
import { startTestService, type TestService } from '../../support/service.ts'

const script = 'export const answer = 42 // and a comment'
const html = { accept: 'text/html,application/xhtml+xml' }
let folder = ''
let service: TestService

before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'masquerade-portal-'))
  await mkdir(join(folder, 'assets'))
  await writeFile(
    join(folder, 'index.html'),
    '<!doctype html><meta name="nonce" content="__NONCE__"><div id="root">',
  )
  await writeFile(join(folder, 'assets/main-a1b2.js'), script)
  await writeFile(join(folder, 'assets/main-a1b2.js.br'), brotliCompressSync(script))
  service = await startTestService({}, undefined, folder)
})
after(async () => {
  await service[Symbol.asyncDispose]()
  await rm(folder, { recursive: true, force: true })
})

clause('SVC-30', "A browser gets the portal's page at `/` and at the portal's own addresses…", async () => {
  for (const path of [
    '/',
    ...portalSections.map((section) => `/${section}`),
    '/databases/a/b/c/d/rules?q=1',
  ]) {
    const page = await service.request('GET', path, { headers: html })
    assert.equal(page.status, 200, path)
    assert.match(page.text, /<div id="root">/)
    const data = await service.request('GET', path, { headers: { accept: 'application/json' } })
    assert.equal(data.status, path === '/' ? 200 : 404, path)
    if (path === '/') assert.equal(data.body.documentation, `${service.origin}/docs`)
    else assert.equal(data.body.error.code, 'ResourceNotFound')
    const other = await service.request('POST', path, { headers: html, body: {} })
    assert.equal(other.status, path === '/' ? 405 : 404, path)
  }
  const { paths } = (await service.request('GET', '/openapi.json')).body
  const taken = new Set(Object.keys(paths).map((path) => path.split('/')[1]))
  assert.deepEqual(
    portalSections.filter((section) => taken.has(section)),
    [],
  )
  assert.equal((await service.request('GET', '/v1.0/users', { headers: html })).status, 401)
})

clause('SVC-31', "The portal's page is never stored and has a Content-Security-Policy…", async () => {
  const page = await service.request('GET', '/', { headers: html })
  const policy = page.headers.get('content-security-policy') ?? ''
  const nonce = /'nonce-([^']+)'/.exec(policy)?.[1] ?? ''
  assert.equal(
    policy,
    `default-src 'none'; script-src 'self'; style-src 'self' 'nonce-${nonce}'; img-src 'self' data:; connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'`,
  )
  assert.ok(page.text.includes(`content="${nonce}"`))
  assert.notEqual(
    (await service.request('GET', '/', { headers: html })).headers.get('content-security-policy'),
    policy,
  )
  assert.equal(page.headers.get('cache-control'), 'no-store')

  const plain = await service.request('GET', '/assets/main-a1b2.js', {
    headers: { 'accept-encoding': 'identity' },
  })
  assert.equal(plain.text, script)
  assert.equal(plain.headers.get('cache-control'), 'public, max-age=31536000, immutable')
  assert.equal(plain.headers.get('x-content-type-options'), 'nosniff')
  const file = await fetch(`${service.origin}/assets/main-a1b2.js`, { headers: { 'accept-encoding': 'br' } })
  assert.equal(file.headers.get('content-encoding'), 'br')
  assert.equal(await file.text(), script)
})
