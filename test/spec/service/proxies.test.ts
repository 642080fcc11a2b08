import assert from 'node:assert/strict'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe } from 'node:test'
import { clause } from '../../support/clause.ts'
import { findProgram, systemEnvironment } from '../../support/find-program.ts'
import { addApplication } from '../../support/issuer.ts'
import { findFreePort } from '../../support/network.ts'
import { start } from '../../support/package.ts'
import { startTestService, type TestService } from '../../support/service.ts'
import { retryUntil, waitUntil } from '../../support/wait-until.ts'

describe('HTTP behind proxies', () => {
  let service: TestService
  before(async () => {
    service = await startTestService({ MASQUERADE_TRUSTED_PROXIES: '127.0.0.1,10.0.0.0/8' })
  })
  after(() => service?.[Symbol.asyncDispose]())

  /** Sends from the given address of this machine: 127.0.0.1 is the trusted proxy. */
  const send = (localAddress: string, path: string, headers: Record<string, string>, body?: string) =>
    new Promise<string>((resolve, reject) => {
      const { httpPort } = service.listeners
      const method = body === undefined ? 'GET' : 'POST'
      const sent = request(
        { host: '127.0.0.1', port: httpPort, localAddress, path, method, headers },
        (answer) => {
          let text = ''
          answer.on('data', (chunk) => {
            text += chunk
          })
          answer.on('end', () => resolve(text))
        },
      )
      sent.on('error', reject)
      sent.end(body)
    })

  clause(
    'SVC-53',
    '`X-Forwarded-For`, `-Proto` and `-Host` count in requests from addresses of `MASQUERADE_TRUSTED_PROXIES` alone. …',
    async () => {
      const token = service.tokenFor({ kind: 'application', permissions: ['Organization.Read.All'] })
      await service.tokens.settled()
      const forwarded = { 'x-forwarded-proto': 'https', 'x-forwarded-host': 'masquerade.example' }
      const contextOf = async (localAddress: string) => {
        const headers = { authorization: `Bearer ${token}`, ...forwarded }
        return JSON.parse(await send(localAddress, '/v1.0/organization', headers))['@odata.context'] as string
      }
      assert.match(await contextOf('127.0.0.1'), /^https:\/\/masquerade\.example\//)
      assert.match(await contextOf('127.0.0.2'), /^http:\/\/127\.0\.0\.1:/)

      const logged = async (localAddress: string, forwardedFor: string) => {
        const { appId, secret } = await addApplication(service)
        const form = new URLSearchParams({
          grant_type: 'client_credentials',
          client_id: appId,
          client_secret: secret,
          scope: 'api://masquerade/.default',
        })
        const headers = {
          'content-type': 'application/x-www-form-urlencoded',
          'x-forwarded-for': forwardedFor,
        }
        await send(localAddress, `/${service.tenantId}/oauth2/v2.0/token`, headers, form.toString())
        return waitUntil('the log of sign-ins', async () => {
          const reading = service.tokenFor({ kind: 'application', permissions: ['AuditLog.Read.All'] })
          const { body } = await service.request('GET', '/v1.0/auditLogs/signIns', { token: reading })
          const found = body.value.find((one: { appId: string }) => one.appId === appId)
          return found?.ipAddress as string | undefined
        })
      }
      assert.equal(await logged('127.0.0.1', '203.0.113.7'), '203.0.113.7')
      assert.equal(await logged('127.0.0.1', '198.51.100.1, 203.0.113.8, 10.1.2.3'), '203.0.113.8')
      assert.equal(await logged('127.0.0.1', '203.0.113.9, not an address'), '127.0.0.1')
      assert.equal(await logged('127.0.0.2', '203.0.113.10'), '127.0.0.2')
    },
  )

  const nginx = findProgram('nginx')
  if (nginx)
    clause(
      'SVC-53',
      '`X-Forwarded-For`, `-Proto` and `-Host` count in requests from addresses of `MASQUERADE_TRUSTED_PROXIES` alone. …',
      async () => {
        const folder = await mkdtemp(join(tmpdir(), 'masquerade-nginx-'))
        const example = await readFile(join(import.meta.dirname, '../../../deploy/nginx.conf'), 'utf8')
        const port = await findFreePort()
        const places = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
          (name) => `${name}_temp_path ${folder}/${name};`,
        )
        const config = example
          .replace('listen 443 ssl;', `listen 127.0.0.1:${port};`)
          .replaceAll(/ssl_.*;\n/g, '')
          .replace('http {', `http { access_log off; ${places.join(' ')}`)
          .replace(/server node-1:8080/, `server 127.0.0.1:${service.listeners.httpPort}`)
          .replace(/ +server node-2:8080.*\n/, '')
        await writeFile(join(folder, 'nginx.conf'), `pid ${folder}/pid;\n${config}`)
        const flags = ['-p', folder, '-e', 'stderr', '-g', 'daemon off; master_process off;']
        const running = start(
          [nginx, ...flags, '-c', join(folder, 'nginx.conf')],
          folder,
          systemEnvironment(),
        )
        try {
          const ask = (path: string) =>
            fetch(`http://127.0.0.1:${port}${path}`, { headers: { 'x-forwarded-host': 'evil.example' } })
          const shown = (await (await retryUntil(() => ask('/'))).json()) as { documentation: string }
          assert.equal(shown.documentation, 'https://127.0.0.1/docs', running.seen.errors)
          assert.equal((await ask('/metrics')).status, 404)
        } finally {
          await running.stop()
          await rm(folder, { recursive: true, force: true })
        }
      },
    )
})
