import assert from 'node:assert/strict'
import { request as httpRequest } from 'node:http'
import { connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { after, before, describe } from 'node:test'
import { clause } from '../../support/clause.ts'
import { addPerson } from '../../support/issuer.ts'
import { startTestService, type TestService } from '../../support/service.ts'
import { waitUntil } from '../../support/wait-until.ts'

const rule =
  '/subscriptions/s/resourceGroups/g/providers/Vendor.Sql/servers/v/databases/d/dataMaskingPolicies/Default/rules/r'
const version = '?api-version=2014-04-01'

describe('requests of every kind', () => {
  let service: TestService
  before(async () => {
    service = await startTestService()
  })
  after(() => service[Symbol.asyncDispose]())

  /** As it is, which `fetch` does not allow for every method. */
  function send(method: string, path: string, headers: Record<string, string> = {}) {
    const { promise, resolve, reject } = Promise.withResolvers<{
      status: number
      headers: NodeJS.Dict<string | string[]>
      text: string
    }>()
    const sent = httpRequest(service.origin + path, { method, headers, agent: false }, async (answer) => {
      resolve({ status: answer.statusCode ?? 0, headers: answer.headers, text: await text(answer) })
    })
    sent.on('error', reject)
    sent.end()
    return promise
  }

  clause(
    'SVC-01',
    'A JSON body has at most 64 levels, 5,000 keys and 20,000 values. A body beyond a limit is 400…',
    async () => {
      const token = service.tokenFor({ role: 'Owner', permissions: ['Group.ReadWrite.All'] })
      const hostile: [string, RegExp][] = [
        [`{${Array.from({ length: 90_000 }, (_, n) => `"k${n}":1`).join()}}`, /more than 5000 keys/],
        [`{"properties":${'['.repeat(65)}${']'.repeat(65)}}`, /deeper than 64 levels/],
        [`{"properties":[${Array(400_000).fill('1').join()}]}`, /more than 20000 values/],
        [`{"properties":[${'{},'.repeat(300_000)}{}]}`, /more than 20000 values/],
      ]
      for (const [body, said] of hostile) {
        const masking = await service.request('PUT', rule + version, { token, body })
        assert.equal(masking.status, 400, masking.text)
        assert.equal(masking.body.error.code, 'InvalidRequestContent')
        assert.match(masking.body.error.message, said)
        const directory = await service.request('POST', '/v1.0/groups', { token, body })
        assert.deepEqual([directory.status, directory.body.error.code], [400, 'BadRequest'])
      }
      const many = Object.fromEntries(Array.from({ length: 4_000 }, (_, n) => [`k${n}`, n]))
      const unknown = await service.request('PUT', rule + version, { token, body: { properties: many } })
      assert.equal(unknown.status, 400)
      assert.match(unknown.body.error.message, /'properties\.k\d+' is not a property of this resource\./)
    },
  )

  clause(
    'SVC-08',
    '`PUT {policy}/document` and `POST {policy}/impact` take bodies of up to 8 MiB, 200,000 keys and 400,000 values: a document of 10,000 rules fits. …',
    async () => {
      const token = service.tokenFor({ role: 'Owner' })
      const policy = rule.replace(/\/rules\/.*$/, '')
      const columnOf = (n: number) => ({ schemaName: 'public', tableName: `t${n}`, columnName: 'email' })
      const rules = Array.from({ length: 10_000 }, (_, n) => ({
        name: `rule ${n}`,
        ...columnOf(n),
        maskingFunction: 'Text',
        prefixSize: '1',
        suffixSize: '1',
        replacementString: '*****',
      }))
      const body = { properties: { rules } }
      const stored = await service.request('PUT', `${policy}/document${version}`, { token, body })
      assert.equal(stored.status, 200, stored.text.slice(0, 200))
      assert.equal(stored.body.changes.created, 10_000)
      const impact = await service.request('POST', `${policy}/impact${version}`, { token, body })
      assert.equal(impact.status, 200)
      assert.equal(impact.body.changes.unchanged, 10_000)
      const tooMany = `{${Array.from({ length: 200_001 }, (_, n) => `"k${n}":1`).join()}}`
      const refused = await service.request('PUT', `${policy}/document${version}`, { token, body: tooMany })
      assert.equal(refused.status, 400)
      assert.match(refused.body.error.message, /more than 200000 keys/)
      const unknown = `{"properties":{"rules":[${Array.from({ length: 9_000 }, (_, n) => `{"k${n}":1}`).join()}]}}`
      const early = await service.request('PUT', `${policy}/document${version}`, { token, body: unknown })
      assert.equal(early.status, 400)
      assert.match(early.body.error.message, /more than 5000 keys, and 'k4998' is unknown/)
      const tooLong = await service.request('PUT', `${policy}/document${version}`, {
        token,
        body: `"${'x'.repeat(8 * 1024 * 1024)}"`,
      })
      assert.equal(tooLong.status, 413)
      await service.request('DELETE', policy.replace(/\/dataMaskingPolicies.*$/, '') + version, { token })
    },
  )

  clause(
    'SVC-02',
    '`HEAD` is answered wherever `GET` is, with the same status and headers and without a body. …',
    async () => {
      const authorization = `Bearer ${service.tokenFor({ role: 'Owner', permissions: ['Group.Read.All'] })}`
      await service.tokens.settled()
      const rules = rule.replace(/\/r$/, '')
      const paths = ['/healthz', '/readyz', '/docs', '/openapi.json', '/v1.0/groups', rules + version]
      for (const path of [...paths, `${rule}${version}`, '/v1.0/nothing']) {
        const head = await send('HEAD', path, { authorization })
        const get = await send('GET', path, { authorization })
        assert.deepEqual([head.status, head.text], [get.status, ''], path)
        assert.equal(head.headers['content-type'], get.headers['content-type'], path)
      }
      const options = await send('OPTIONS', rule + version)
      assert.deepEqual([options.status, options.headers.allow], [204, 'PUT, GET, DELETE, HEAD, OPTIONS'])
      assert.equal((await send('OPTIONS', '/v1.0/groups')).status, 204)
      assert.equal((await send('OPTIONS', '/v1.0/nothing')).status, 400)
      const other = await send('PATCH', rule + version)
      assert.deepEqual([other.status, other.headers.allow], [405, options.headers.allow])
      assert.equal((await send('HEAD', '/v1.0/groups')).status, 401)
    },
  )

  clause(
    'SVC-03',
    'A method that no path knows, such as `QUERY`, `TRACE`, `CONNECT` or `PROPFIND`, is 501…',
    async () => {
      for (const method of ['QUERY', 'TRACE', 'PROPFIND', 'MKCOL', 'SEARCH', 'PURGE', 'M-SEARCH', 'LOCK'])
        for (const path of [rule, '/v1.0/users', '/healthz', '/nothing', '/'])
          for (const headers of [{}, { 'content-type': 'application/json' }]) {
            const answer = await send(method, path, headers)
            assert.equal(answer.status, 501, `${method} ${path}: ${answer.text}`)
            assert.equal(JSON.parse(answer.text).error.code, 'NotImplemented')
          }
      for (const method of ['QUERY', 'TRACE', 'PROPFIND'])
        for (const path of ['/organizations/oauth2/v2.0/token', '/.well-known/openid-configuration']) {
          const { status, text } = await send(method, path)
          assert.equal(status, 501, `${method} ${path}: ${status} ${text}`)
        }
      for (const page of ['/healthz', '/readyz', '/openapi.json', '/docs'])
        for (const method of ['PATCH', 'POST', 'DELETE']) {
          const other = await send(method, page)
          assert.deepEqual(
            [other.status, other.headers.allow],
            [405, 'GET, HEAD, OPTIONS'],
            `${method} ${page}`,
          )
        }
      const speak = (bytes: string) => {
        const { promise, resolve, reject } = Promise.withResolvers<string>()
        const socket = connect(service.listeners.httpPort, '127.0.0.1')
        socket.on('error', reject)
        socket.write(bytes)
        text(socket).then(resolve, reject)
        return promise
      }
      // Methods that Node knows nothing of, and requests that are none.
      const foreign = await speak('FOO /v1.0/users HTTP/1.1\r\nhost: x\r\n\r\n')
      assert.match(foreign, /^HTTP\/1\.1 501 [\s\S]+\{"error":\{"code":"NotImplemented"/)
      assert.match(await speak('hello\r\n\r\n'), /^HTTP\/1\.1 400 /)
      assert.match(await speak(`GET / HTTP/1.1\r\nx: ${'y'.repeat(100_000)}\r\n\r\n`), /^HTTP\/1\.1 431 /)
      const tunnel = await speak('CONNECT example.org:443 HTTP/1.1\r\nhost: example.org:443\r\n\r\n')
      assert.match(tunnel, /^HTTP\/1\.1 501 [\s\S]+\{"error":\{"code":"NotImplemented"/)
    },
  )

  /** Sends the bytes at once. Resolves with all that came until the answers are whole, which end so, or the connection ends. */
  function sendBytes(bytes: string, isWhole: (text: string) => boolean = () => false, end = '') {
    const { promise, resolve } = Promise.withResolvers<{ text: string; isEnded: boolean }>()
    const socket = connect(service.listeners.httpPort, '127.0.0.1', () => socket.write(bytes))
    const got: string[] = []
    const finish = (isEnded: boolean) => {
      resolve({ text: got.join(''), isEnded })
      socket.destroy()
    }
    socket.setEncoding('utf8').on('data', (piece: string) => {
      got.push(piece)
      if (piece.endsWith(end) && isWhole(got.join(''))) finish(false)
    })
    socket.on('error', () => finish(true)).on('close', () => finish(true))
    return promise
  }
  const countAnswers = (got: string) => got.split('HTTP/1.1 200').length - 1

  clause(
    'SVC-95',
    'Pages that strangers may read cost the service no more when many ask at once: answers of `/openapi.json` share their bytes, and readers of `/metrics` that come together share one look at the store. A connection on which more than 32 requests wait for their answers is ended.',
    async () => {
      const get = (path: string, host = 'localhost') => `GET ${path} HTTP/1.1\r\nHost: ${host}\r\n\r\n`
      const few = await sendBytes(get('/healthz').repeat(32), (got) => countAnswers(got) === 32)
      assert.equal(few.isEnded, false)
      const many = await sendBytes(get('/readyz').repeat(33))
      assert.equal(many.isEnded, true)
      const last = /# TYPE masquerade_masked_databases/g
      const metrics = await sendBytes(
        get('/metrics').repeat(10),
        (got) => countAnswers(got) === 10 && (got.match(last)?.length ?? 0) === 10,
      )
      const used = metrics.text.match(/^process_cpu_seconds_total .+$/gm)
      assert.equal(used?.length, 10)
      assert.equal(new Set(used).size, 1)
      // More addresses than are kept, so that the last ones are put together for the answer.
      const hosts = Array.from({ length: 12 }, (_, n) => `own-${n}.example`)
      const isWhole = (got: string) => {
        const [, length, body] = /content-length: (\d+)[\s\S]*?\r\n\r\n([\s\S]*)$/i.exec(
          got.slice(got.lastIndexOf('HTTP/1.1 200')),
        ) ?? [undefined, undefined, '']
        return countAnswers(got) === 12 && Buffer.byteLength(body ?? '') === Number(length)
      }
      const described = await sendBytes(
        hosts.map((host) => get('/openapi.json', host)).join(''),
        isWhole,
        '}}',
      )
      const bodies = described.text.split(/HTTP\/1\.1 200[\s\S]*?\r\n\r\n/).slice(1)
      assert.deepEqual(
        bodies.map((body) => JSON.parse(body).servers[0].url),
        hosts.map((host) => `http://${host}`),
      )
    },
  )

  clause(
    'SVC-96',
    'A body takes no more memory than twice its bytes, in whatever pieces it comes. One that comes in more than 4,096 pieces, and in pieces of fewer than 16 bytes on average beyond these, is 400 in the shape of its API, and its connection ends.',
    async () => {
      const authorization = `Bearer ${service.tokenFor({ directoryRoles: [] })}`
      await service.tokens.settled()
      const head = `POST /v1.0/$batch HTTP/1.1\r\nHost: localhost\r\nAuthorization: ${authorization}\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n`
      const request = { id: '1', method: 'GET', url: '/nothing/é' }
      const whole = Buffer.from(JSON.stringify({ requests: [request] }).padEnd(4000)).toString('latin1')
      const inBytes = [...whole].map((byte) => `1\r\n${byte}\r\n`).join('')
      const socket = connect(service.listeners.httpPort, '127.0.0.1')
      socket.write(Buffer.from(`${head}${inBytes}0\r\n\r\n`, 'latin1'))
      const answered = await new Promise<string>((resolve) =>
        socket.once('data', (bytes) => resolve(String(bytes))),
      )
      socket.destroy()
      assert.match(answered, /^HTTP\/1\.1 200/)
      const scattered = await sendBytes(head + '1\r\n \r\n'.repeat(5000))
      assert.match(scattered.text, /^HTTP\/1\.1 400 /)
      assert.equal(scattered.isEnded, true)
      const large = `10000\r\n${' '.repeat(65_536)}\r\n`.repeat(15)
      const plain = await sendBytes(`${head}${large}2\r\n{}\r\n0\r\n\r\n`, (got) => got.includes('\r\n\r\n'))
      assert.match(plain.text, /^HTTP\/1\.1 400 /)
    },
  )

  clause(
    'SVC-98',
    'A caller whose clients have not read 64 MB of answers gets 429 until they have, or are gone. Answers of less than 64 KB do not count.',
    async () => {
      const token = service.tokenFor({ principal: (await addPerson(service)).id, directoryRoles: [] })
      const requests = Array.from({ length: 20 }, (_, n) => ({
        id: `${n}`,
        method: 'GET',
        url: '/$metadata',
      }))
      const body = JSON.stringify({ requests })
      const head = `POST /v1.0/$batch HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${token}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n`
      const ask = async () => (await service.request('GET', '/v1.0/$metadata', { token })).status
      // Twice: what the first connections held is given back with them.
      for (let round = 0; round < 2; round++) {
        const sockets = Array.from({ length: 8 }, () => {
          const socket = connect(service.listeners.httpPort, '127.0.0.1').pause()
          socket.on('error', () => {})
          socket.write((head + body).repeat(16))
          return socket
        })
        await waitUntil('the caller is refused', async () => (await ask()) === 429)
        const other = service.tokenFor({ principal: (await addPerson(service)).id })
        assert.equal((await service.request('GET', '/v1.0/$metadata', { token: other })).status, 200)
        for (const socket of sockets) socket.destroy()
        await waitUntil('the caller is answered', async () => (await ask()) === 200)
      }
    },
  )
})
