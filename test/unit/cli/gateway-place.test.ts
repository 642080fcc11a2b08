import assert from 'node:assert/strict'
import { mkdir, mkdtemp, realpath, rm, writeFile } from 'node:fs/promises'
import { networkInterfaces, tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, beforeEach, describe, test } from 'node:test'
import { findGateway } from '../../../src/cli/gateway-place.ts'
import { environmentFor } from '../../../src/cli/run-psql.ts'
import { createCa, issueCertificate, toPem } from '../../../src/http/local-ca.ts'
import { readSettings } from '../../../src/settings.ts'

const otherAddresses = () =>
  Object.values(networkInterfaces()).flatMap((cards = []) =>
    cards.filter(({ internal, family }) => !internal && family === 'IPv4').map(({ address }) => address),
  )

describe('the gateway to connect to', () => {
  let folder = ''
  const former = process.env.XDG_CONFIG_HOME
  before(async () => {
    folder = await realpath(await mkdtemp(join(tmpdir(), 'masquerade-place-')))
    process.env.XDG_CONFIG_HOME = join(folder, 'config')
    await mkdir(join(folder, 'config', 'masquerade'), { recursive: true })
    await mkdir(join(folder, 'tls'))
    await writeFile(join(folder, 'tls', 'ca.pem'), 'a CA')
  })
  beforeEach(async () => {
    await rm(sessionFile(), { force: true })
    await listens('127.0.0.1')
  })
  after(async () => {
    if (former === undefined) delete process.env.XDG_CONFIG_HOME
    else process.env.XDG_CONFIG_HOME = former
    await rm(folder, { recursive: true, force: true })
  })

  const sessionFile = () => join(folder, 'config', 'masquerade', 'session.json')
  const ownCa = () => join(folder, 'tls', 'ca.pem')
  const listens = (host: string) =>
    writeFile(
      join(folder, 'run.json'),
      JSON.stringify({
        pid: 1,
        host,
        httpPort: 8080,
        httpsPort: 8443,
        origin: 'https://masks.example.com',
        gatewayPort: 7000,
      }),
    )
  const signedInTo = (url: string, caFile = '/some/ca.pem') =>
    writeFile(
      sessionFile(),
      JSON.stringify({
        url,
        caFile,
        userPrincipalName: 'ana@contoso.com',
        accessToken: 't',
        expiresAtMs: Date.now() + 3_600_000,
        refreshToken: null,
      }),
    )
  const find = (
    wishes: { url?: string; gateway?: string; ca?: string; prefersOwn?: boolean } = {},
    more = {},
  ) => findGateway(readSettings({ MASQUERADE_DATA_DIR: folder, ...more }), { prefersOwn: false, ...wishes })

  test('that of the data directory, by the name in its certificate', async () => {
    for (const [listening, host, name] of [
      ['127.0.0.1', '127.0.0.1', 'localhost'],
      ['0.0.0.0', '127.0.0.1', 'localhost'],
      ['::', '::1', 'localhost'],
      ['localhost', 'localhost', 'localhost'],
      ...otherAddresses().map((address) => [address, address, address] as const),
    ] as const) {
      await listens(listening)
      const { place, isOwn } = await find()
      assert.deepEqual([place, isOwn], [{ host, name, port: 7000, caFile: ownCa() }, true], listening)
    }
  })

  test('that of the service that somebody signed in to, unless it is for somebody else', async () => {
    await signedInTo('https://far.example.com')
    const far = await find()
    assert.deepEqual(far.place, {
      host: 'far.example.com',
      name: 'far.example.com',
      port: 6432,
      caFile: '/some/ca.pem',
    })
    assert.deepEqual([far.isOwn, far.session?.userPrincipalName], [false, 'ana@contoso.com'])
    const own = await find({ prefersOwn: true })
    assert.deepEqual([own.isOwn, own.session], [true, null])
    for (const url of ['https://masks.example.com', 'https://localhost:8443', 'http://127.0.0.1:8080']) {
      await signedInTo(url, ownCa())
      const { isOwn, session, place } = await find()
      assert.deepEqual([isOwn, session?.url, place.caFile], [true, url, ownCa()])
    }
  })

  test('that of the sign-in, whatever a data directory with another CA says', async () => {
    for (const url of ['https://masks.example.com', 'https://localhost:8443', 'http://127.0.0.1:8080'])
      for (const wishes of [{}, { url }]) {
        await signedInTo(url)
        const { isOwn, session, place } = await find(wishes)
        const host = new URL(url).hostname
        assert.deepEqual([isOwn, session?.url], [false, url])
        assert.deepEqual(place, { host, name: host, port: 6432, caFile: '/some/ca.pem' })
      }
  })

  test('none on another machine', async () => {
    for (const host of ['192.0.2.7', '2001:db8::7', 'masks.invalid']) {
      await listens(host)
      await assert.rejects(
        find(),
        /run\.json says that its service is at .*, which is not an address of this/,
      )
    }
  })

  test('another one that is named or signed in to, beside a data directory that is not believed', async () => {
    await listens('192.0.2.7')
    const url = 'https://far.example.com'
    assert.equal((await find({ url })).place.host, 'far.example.com')
    await signedInTo(url)
    assert.equal((await find()).place.host, 'far.example.com')
    await assert.rejects(find({ prefersOwn: true }), /not an address of this machine/)
  })

  test('the one that is named, whose service nobody may be signed in to', async () => {
    await signedInTo('https://far.example.com')
    const other = await find({ url: 'https://other.example.com/', ca: '/other.pem' })
    assert.deepEqual([other.session, other.url], [null, 'https://other.example.com'])
    assert.deepEqual(other.place, {
      host: 'other.example.com',
      name: 'other.example.com',
      port: 6432,
      caFile: '/other.pem',
    })
    const led = await find({ gateway: '[2001:db8::1]:99' })
    assert.deepEqual([led.place.host, led.place.port], ['2001:db8::1', 99])
    for (const gateway of [' ', 'a:b', 'a:99999', 'http://a', 'a/b'])
      await assert.rejects(find({ gateway }), /HOST:PORT/, gateway)
    await rm(join(folder, 'run.json'))
    await rm(sessionFile())
    await assert.rejects(find(), /No service runs/)
  })

  test("the operator's certificate names the gateway, and whoever signed it is trusted", async () => {
    const now = new Date()
    const { ca } = await createCa(['db.example.com'], now)
    const { cert } = await issueCertificate(ca, ['192.0.2.1', '*.example.com', 'db.example.com'], now)
    const file = join(folder, 'cert.pem')
    await writeFile(file, cert)
    const settings = { MASQUERADE_TLS_CERT_FILE: file, MASQUERADE_TLS_KEY_FILE: file }
    const { place } = await find({}, settings)
    assert.deepEqual(place, { host: '127.0.0.1', name: 'db.example.com', port: 7000, caFile: null })
    const environment = environmentFor(place, { user: 'u', password: 'p' }, 'shop')
    assert.equal(environment.PGSSLMODE, 'verify-full')
    assert.notEqual(environment.PGSSLROOTCERT, undefined)
    await writeFile(file, toPem(ca.certificate))
    assert.equal((await find({}, settings)).place.caFile, file)
  })
})
