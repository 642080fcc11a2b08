import assert from 'node:assert/strict'
import { createPrivateKey, X509Certificate } from 'node:crypto'
import { once } from 'node:events'
import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { type AddressInfo, isIP } from 'node:net'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterEach, beforeEach, describe, test } from 'node:test'
import { connect, createServer } from 'node:tls'
import { listConfiguredNames, listOwnNames } from '../../../src/http/certificate-names.ts'
import { type Certificates, loadCertificates } from '../../../src/http/certificates.ts'
import { importCaKey, issueCertificate } from '../../../src/http/local-ca.ts'
import * as x509 from '../../../src/http/x509.ts'
import { OperatorError } from '../../../src/kernel/operator-error.ts'

let dataDir: string
beforeEach(() => {
  dataDir = mkdtempSync(path.join(tmpdir(), 'masquerade-tls-'))
})
afterEach(() => rmSync(dataDir, { recursive: true, force: true }))

const inTls = (name: string) => path.join(dataDir, 'tls', name)
const load = (options: { hostNames?: string[]; now?: Date } = {}) =>
  loadCertificates({ dataDir, hostNames: [], ...options })
const inDays = (days: number) => new Date(Date.now() + days * 24 * 60 * 60 * 1000)

/** Connects by TLS as a client that trusts only this CA. */
async function shakeHands({ cert, key, ca }: Pick<Certificates, 'cert' | 'key' | 'ca'>, host: string) {
  const server = createServer({ cert, key }, (socket) => socket.end('hello'))
  server.on('tlsClientError', () => {})
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  try {
    const socket = connect({ port, host: '127.0.0.1', ca, ...nameOf(host) })
    const [data] = await once(socket, 'data')
    return String(data)
  } finally {
    server.close()
  }
}

/** A client that dials an address sends no server name and checks the address. */
function nameOf(host: string) {
  if (isIP(host) === 0) return { servername: host }
  const check = (_: string, peer: { raw: Buffer }) =>
    new X509Certificate(peer.raw).checkIP(host) ? undefined : new Error(`not for ${host}`)
  return { checkServerIdentity: check }
}

describe('the certificate of the local CA', () => {
  for (const host of ['localhost', '127.0.0.1', '::1'])
    test(`is accepted for ${host} by a client that trusts the CA`, async () => {
      assert.equal(await shakeHands(await load(), host), 'hello')
    })

  test('is accepted for configured names and addresses', async () => {
    const certificates = await load({
      hostNames: ['Masks.Example.org.', '192.0.2.7', '2001:DB8:0::1', '*.intern.example'],
    })
    for (const host of ['masks.example.org', '192.0.2.7', '2001:db8::1', 'a.intern.example'])
      assert.equal(await shakeHands(certificates, host), 'hello', host)
  })

  test('is refused for another name', async () => {
    const certificates = await load()
    await assert.rejects(shakeHands(certificates, 'example.org'), { code: 'ERR_TLS_CERT_ALTNAME_INVALID' })
  })

  test('is refused by a client that does not trust the CA', async () => {
    const { cert, key } = await load()
    await assert.rejects(shakeHands({ cert, key }, 'localhost'), { code: 'UNABLE_TO_VERIFY_LEAF_SIGNATURE' })
  })

  test('is valid for at most 397 days', async () => {
    const { validFrom, validTo } = new X509Certificate((await load()).cert)
    assert.ok((Date.parse(validTo) - Date.parse(validFrom)) / 86_400_000 <= 397)
  })
})

describe('the local CA', () => {
  for (const host of ['example.org', 'localhost.example.org', '192.0.2.7', '128.0.0.1', '::2'])
    test(`cannot vouch for ${host}, even in the hands of a thief`, async () => {
      const { ca = '' } = await load()
      const key = await importCaKey(
        new Uint8Array(
          createPrivateKey(readFileSync(inTls('ca-key.pem'))).export({ format: 'der', type: 'pkcs8' }),
        ),
      )
      const forged = await issueCertificate(
        { certificate: new x509.X509Certificate(ca), key },
        [host],
        new Date(),
      )
      await assert.rejects(shakeHands({ ...forged, ca }, host), { message: 'permitted subtree violation' })
    })

  test('keeps its keys and folder private', async () => {
    await load()
    assert.deepEqual(readdirSync(inTls('')).sort(), ['ca-key.pem', 'ca.pem', 'server-key.pem', 'server.pem'])
    assert.equal(statSync(inTls('')).mode & 0o777, 0o700)
    for (const name of ['ca-key.pem', 'server-key.pem'])
      assert.equal(statSync(inTls(name)).mode & 0o777, 0o600)
  })

  test('takes back access that others were given', async () => {
    await load()
    chmodSync(inTls(''), 0o755)
    chmodSync(inTls('ca-key.pem'), 0o644)
    await load()
    assert.equal(statSync(inTls('')).mode & 0o777, 0o700)
    assert.equal(statSync(inTls('ca-key.pem')).mode & 0o777, 0o600)
  })

  test('stays the same for as long as it can', async () => {
    const first = await load({ hostNames: ['::', '0.0.0.0', 'FE80::1%eth0', 'masks.example.org'] })
    const second = await load({ hostNames: ['masks.example.org', 'fe80::1'], now: inDays(300) })
    assert.deepEqual(second, first)
  })

  test('is not replaced because a name is no longer wanted', async () => {
    const first = await load({ hostNames: ['masks.example.org'] })
    const second = await load()
    assert.equal(second.ca, first.ca)
    await assert.rejects(shakeHands(second, 'masks.example.org'), { code: 'ERR_TLS_CERT_ALTNAME_INVALID' })
  })

  test('is replaced when a configured name is outside of its constraints', async () => {
    const first = await load()
    const second = await load({ hostNames: ['masks.example.org'] })
    assert.notEqual(second.ca, first.ca)
    assert.equal(await shakeHands(second, 'masks.example.org'), 'hello')
  })

  test('is replaced before it expires, and the certificate never outlives it', async () => {
    const first = await load()
    const late = await load({ now: inDays(3600) })
    assert.equal(late.ca, first.ca)
    assert.ok(late.expiresAt <= new Date(new X509Certificate(first.ca ?? '').validTo))
    assert.notEqual((await load({ now: inDays(3640) })).ca, first.ca)
  })
})

describe('a new certificate of the same CA', () => {
  test('is issued within 30 days of expiry, and not earlier', async () => {
    const first = await load()
    assert.equal((await load({ now: inDays(366) })).cert, first.cert)
    const renewed = await load({ now: inDays(368) })
    assert.notEqual(renewed.cert, first.cert)
    assert.equal(renewed.ca, first.ca)
    assert.ok(renewed.expiresAt > inDays(700))
  })

  test('is issued when the CA is another', async () => {
    const first = await load()
    rmSync(inTls('ca.pem'))
    const second = await load()
    assert.notEqual(second.ca, first.ca)
    assert.equal(await shakeHands(second, 'localhost'), 'hello')
  })

  for (const name of ['server.pem', 'server-key.pem'])
    test(`is issued when ${name} was cut short`, async () => {
      const first = await load()
      writeFileSync(inTls(name), readFileSync(inTls(name), 'utf8').slice(0, 100))
      const second = await load()
      assert.equal(second.ca, first.ca)
      assert.equal(await shakeHands(second, 'localhost'), 'hello')
    })
})

describe('a damaged CA', () => {
  const refusal = (pattern: RegExp) => (error: unknown) => {
    assert.ok(error instanceof OperatorError)
    assert.match(error.message, pattern)
    assert.ok(error.message.includes(`Restore ${path.join(dataDir, 'tls')} from a backup, or delete it`))
    assert.doesNotMatch(error.message, /\n/)
    return true
  }

  test('is refused when the certificate is no certificate', async () => {
    await load()
    writeFileSync(inTls('ca.pem'), '')
    await assert.rejects(load(), refusal(/ca\.pem is not a certificate/))
  })

  test('is refused when the key is missing', async () => {
    await load()
    rmSync(inTls('ca-key.pem'))
    await assert.rejects(load(), refusal(/ca-key\.pem is missing/))
  })

  test('is refused when the key is of another CA', async () => {
    await load()
    const { key } = await issueOther()
    writeFileSync(inTls('ca-key.pem'), key)
    await assert.rejects(load(), refusal(/ca-key\.pem does not belong to/))
  })

  test('is left alone', async () => {
    await load()
    writeFileSync(inTls('ca-key.pem'), 'damaged')
    const before = readFileSync(inTls('ca.pem'), 'utf8')
    await assert.rejects(load())
    assert.equal(readFileSync(inTls('ca.pem'), 'utf8'), before)
    assert.equal(readFileSync(inTls('ca-key.pem'), 'utf8'), 'damaged')
  })
})

/** A certificate for localhost that has nothing to do with the data directory under test. */
async function issueOther(now = new Date()): Promise<Certificates> {
  const other = mkdtempSync(path.join(tmpdir(), 'masquerade-tls-'))
  try {
    return await loadCertificates({ dataDir: other, hostNames: [], now })
  } finally {
    rmSync(other, { recursive: true })
  }
}

describe("the operator's certificate", () => {
  function loadOwn(cert: string | undefined, key: string | undefined) {
    const [certFile, keyFile] = [path.join(dataDir, 'own.pem'), path.join(dataDir, 'own-key.pem')]
    if (cert !== undefined) writeFileSync(certFile, cert)
    if (key !== undefined) writeFileSync(keyFile, key)
    return loadCertificates({ dataDir, hostNames: [], certFile, keyFile })
  }

  test('is served with its chain, and no local CA is made', async () => {
    const { ca = '', cert, key, expiresAt } = await issueOther()
    const own = await loadOwn(`${cert}${ca}`, key)
    assert.deepEqual(own, { cert: `${cert}${ca}`, key, expiresAt, source: 'operator' })
    assert.equal(await shakeHands({ ...own, ca }, 'localhost'), 'hello')
    assert.deepEqual(readdirSync(dataDir).sort(), ['own-key.pem', 'own.pem'])
  })

  const encrypt = (key: string) =>
    createPrivateKey(key)
      .export({ format: 'pem', type: 'pkcs8', cipher: 'aes-256-cbc', passphrase: 'secret' })
      .toString()
  const refusals: [string, RegExp, (good: Certificates) => Promise<unknown>][] = [
    [
      'whose key is of another',
      /key\.pem does not belong to/,
      async ({ cert }) => loadOwn(cert, (await issueOther()).key),
    ],
    [
      'with the chain in the wrong order',
      /does not belong/,
      ({ ca, cert, key }) => loadOwn(`${ca}${cert}`, key),
    ],
    [
      'that has expired',
      /expired on \d{4}-\d\d-\d\d\.$/,
      async () => {
        const { cert, key } = await issueOther(inDays(-400))
        return await loadOwn(cert, key)
      },
    ],
    [
      'that is not valid yet',
      /is not valid before \d{4}/,
      async () => {
        const { cert, key } = await issueOther(inDays(2))
        return await loadOwn(cert, key)
      },
    ],
    ['that is no certificate', /own\.pem holds no certificate/, ({ key }) => loadOwn('hello', key)],
    [
      'with a damaged chain',
      /Certificate 2 in .* is damaged/,
      ({ cert, key }) => loadOwn(`${cert}${cert.replace(/\n.{20}/, '\nAAAAAAAAAAAAAAAAAAAA')}`, key),
    ],
    ['whose key is no key', /own-key\.pem holds no private key/, ({ cert }) => loadOwn(cert, 'hello')],
    ['whose key is encrypted', /own-key\.pem is encrypted/, ({ cert, key }) => loadOwn(cert, encrypt(key))],
    ['that is not there', /Cannot read .*own\.pem \(ENOENT\)/, ({ key }) => loadOwn(undefined, key)],
    [
      'without a key',
      /belong together/,
      () => loadCertificates({ dataDir, hostNames: [], certFile: 'own.pem' }),
    ],
  ]
  for (const [what, message, attempt] of refusals)
    test(`${what} is refused in one line`, async () => {
      await assert.rejects(attempt(await issueOther()), (error: unknown) => {
        assert.ok(error instanceof OperatorError)
        assert.match(error.message, message)
        assert.doesNotMatch(error.message, /\n|PRIVATE/)
        return true
      })
    })
})

describe('names for certificates', () => {
  test('of the machine are left out when they are no host names', () => {
    assert.deepEqual(listOwnNames('My Laptop'), ['localhost', '127.0.0.1', '::1'])
    assert.deepEqual(listOwnNames('Build-7.local'), ['localhost', '127.0.0.1', '::1', 'build-7.local'])
  })

  test('are written the way certificates have them', () => {
    assert.deepEqual(listConfiguredNames(['bücher.example', '[2001:db8:0:0::1]', '*.A.example']), [
      'xn--bcher-kva.example',
      '2001:db8::1',
      '*.a.example',
    ])
  })

  for (const name of ['a b', '', '*', 'a..b', '-a', 'https://a', 'a.example:8443'])
    test(`'${name}' is refused`, () => {
      assert.throws(() => listConfiguredNames([name]), /neither a host name nor an IP address/)
    })
})

test('a data directory that cannot be written to is named', async () => {
  const file = path.join(dataDir, 'file')
  writeFileSync(file, '')
  await assert.rejects(loadCertificates({ dataDir: file, hostNames: [] }), {
    name: 'OperatorError',
    message: `Cannot create ${path.join(file, 'tls')} (ENOTDIR).`,
  })
})
