import assert from 'node:assert/strict'
import { Agent, request } from 'node:http'
import { text } from 'node:stream/consumers'
import { after, before, describe } from 'node:test'
import { readSecretKeys } from '../../../src/auth/secret-key.ts'
import { clause } from '../../support/clause.ts'
import { fillDirectory } from '../../support/directory.ts'
import { useGateway } from '../../support/gateway.ts'
import { apiVersion, ruleUrl } from '../../support/masking.ts'
import { runHere, settleIn } from '../../support/run-here.ts'
import { startTestService, type TestService } from '../../support/service.ts'
import { waitUntil } from '../../support/wait-until.ts'

interface Answer {
  readonly status: number
  readonly body: string
}

/** A request on a connection of its own: connections go to the processes in turn. */
function ask(origin: string, path: string, token = '', method = 'GET', body = ''): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const headers = {
      ...(token !== '' && { authorization: `Bearer ${token}` }),
      ...(body !== '' && { 'content-type': 'application/json' }),
    }
    const sent = request(origin + path, { method, headers, agent: new Agent() }, (answer) =>
      text(answer).then((read) => resolve({ status: answer.statusCode ?? 0, body: read }), reject),
    )
    sent.on('error', reject)
    sent.end(body)
  })
}

const times = <T>(count: number, run: (at: number) => Promise<T>) =>
  Promise.all(Array.from({ length: count }, (_, at) => run(at)))

const processesOf = ({ listeners }: TestService): readonly number[] =>
  'processes' in listeners ? (listeners.processes as readonly number[]) : []

describe('processes that serve HTTP', () => {
  const gateway = useGateway({ MASQUERADE_HTTP_WORKERS: '2' })
  const service = () => gateway.masking.service()

  const readRequests = async () => {
    const { body } = await ask(service().origin, '/metrics')
    const counts = body.matchAll(/^masquerade_http_requests_total\{[^}]*listUsers[^}]*\} (\d+)$/gm)
    return [...counts].reduce((sum, [, count]) => sum + Number(count), 0)
  }

  clause(
    'SVC-99',
    'With `MASQUERADE_HTTP_WORKERS` above 1, that many processes serve the ports of HTTP…',
    async () => {
      const first = [...processesOf(service())]
      assert.equal(first.length, 2)
      assert.ok(!first.includes(process.pid))
      const token = service().tokenFor({ kind: 'application', permissions: ['User.Read.All'] })
      await service().tokens.settled()
      const list = () => ask(service().origin, '/v1.0/users?$top=1', token)
      const before = await readRequests()
      const answers = await times(20, list)
      assert.deepEqual([...new Set(answers.map(({ status }) => status))], [200])
      assert.equal((await readRequests()) - before, 20, 'the page counts the requests of one process')

      // A member that was added through one connection is there for all others.
      const directory = fillDirectory(service())
      const [group, user] = [await directory.group(), await directory.user()]
      const writer = service().tokenFor({
        kind: 'application',
        permissions: [
          'GroupMember.ReadWrite.All',
          'Group.ReadWrite.All',
          'User.ReadWrite.All',
          'Directory.Read.All',
        ],
      })
      await service().tokens.settled()
      const member = JSON.stringify({ '@odata.id': `${service().origin}/v1.0/directoryObjects/${user}` })
      const added = await ask(service().origin, `/v1.0/groups/${group}/members/$ref`, writer, 'POST', member)
      assert.equal(added.status, 204, added.body)
      const groups = await times(10, () =>
        ask(
          service().origin,
          `/v1.0/users/${user}/getMemberGroups`,
          writer,
          'POST',
          '{"securityEnabledOnly":false}',
        ),
      )
      for (const { body } of groups) assert.deepEqual(JSON.parse(body).value, [group], body)

      // A rule that one of them takes is known to sessions of the gateway when it is answered.
      const analyst = await gateway.connect('analyst')
      for (const maskingFunction of ['Default', 'Text', 'Default']) {
        const rule = { schemaName: 'public', tableName: 'customers', columnName: 'name', maskingFunction }
        const put = await gateway.masking.putRule(gateway.db, 'name', {
          ...rule,
          ...(maskingFunction === 'Text' && { prefixSize: '1', suffixSize: '0', replacementString: '*' }),
        })
        assert.equal(put.headers.get('x-masquerade-enforcement'), 'Enforced', put.text)
        const { rows } = await analyst.query('select name from public.customers where id = 1')
        assert.deepEqual(rows, [{ name: maskingFunction === 'Text' ? 'a*' : 'XXXX' }])
      }

      // One that dies is replaced; the other one serves meanwhile.
      for (const pid of first) {
        process.kill(pid, 'SIGKILL')
        const isReplaced = () => processesOf(service()).length === 2 && !processesOf(service()).includes(pid)
        await waitUntil('another process takes its place', isReplaced)
        assert.equal((await list()).status, 200)
      }
    },
  )

  clause('SVC-100', 'Revocations and the rate limit hold for all processes of a node together…', async () => {
    const directory = fillDirectory(service())
    const user = await directory.user()
    const token = service().tokenFor({ principal: user, permissions: ['User.Read.All'] })
    await service().tokens.settled()
    const list = () => ask(service().origin, '/v1.0/me', token)
    assert.deepEqual([...new Set((await times(10, list)).map(({ status }) => status))], [200])
    const admin = service().tokenFor({ permissions: ['User.ReadWrite.All', 'Directory.ReadWrite.All'] })
    await service().tokens.settled()
    const disabled = await ask(
      service().origin,
      `/v1.0/users/${user}`,
      admin,
      'PATCH',
      '{"accountEnabled":false}',
    )
    assert.equal(disabled.status, 204, disabled.body)
    await waitUntil('every process refuses the token', async () =>
      (await times(10, list)).every(({ status }) => status === 401),
    )
  })
})

describe('another secret key for two processes', () => {
  const gateway = useGateway({ MASQUERADE_HTTP_WORKERS: '2' })
  const service = () => gateway.masking.service()

  clause('SVC-100', 'Revocations and the rate limit hold for all processes of a node together…', async () => {
    const environment = await settleIn(service())
    const rotate = (seconds: number) =>
      runHere(['keys', 'rotate-secret', '--wait-seconds', String(seconds), '--json'], { environment })
    const token = service().tokenFor({ role: 'Owner' })
    await service().tokens.settled()
    const rule = {
      schemaName: 'public',
      tableName: 'customers',
      columnName: 'name',
      maskingFunction: 'Default',
    }
    const path = `${ruleUrl(gateway.db, 'name')}?${apiVersion}`
    const body = JSON.stringify({ properties: rule })
    /** Both processes open the password of the binding. */
    const use = async () => {
      const answers = await times(4, () => ask(service().origin, path, token, 'PUT', body))
      for (const { status, body: text } of answers) assert.ok(status === 200 || status === 201, text)
    }
    await use()

    // A process that cannot read the file does not know the new key, so the node does not either.
    const [stopped = 0] = processesOf(service())
    process.kill(stopped, 'SIGSTOP')
    const waiting = await rotate(4).finally(() => process.kill(stopped, 'SIGCONT'))
    assert.equal(waiting.code, 4, waiting.stdout + waiting.stderr)
    assert.match(JSON.parse(waiting.stdout).waitsFor, /nodes that do not know the new key/)

    let isDone = false
    let uses = 0
    const using = (async () => {
      for (; !isDone; uses++) await use()
    })()
    let done = waiting
    for (let run = 0; done.code === 4 && run < 20; run++) done = await rotate(2)
    isDone = true
    await using
    assert.equal(done.code, 0, done.stdout + done.stderr)
    assert.ok(uses > 0)

    // The old key is gone: processes from before and after go on with the new one.
    assert.equal(readSecretKeys(service().dataDir, undefined).length, 1)
    await use()
    process.kill(stopped, 'SIGKILL')
    const isReplaced = () => processesOf(service()).length === 2 && !processesOf(service()).includes(stopped)
    await waitUntil('another process takes its place', isReplaced)
    await use()
  })
})

describe('the rate limit of two processes', () => {
  const limit = 40
  let service: TestService
  before(async () => {
    service = await startTestService({ MASQUERADE_HTTP_WORKERS: '2', MASQUERADE_RATE_LIMIT: String(limit) })
  })
  after(() => service[Symbol.asyncDispose]())

  clause('SVC-100', 'Revocations and the rate limit hold for all processes of a node together…', async () => {
    const token = service.tokenFor({ kind: 'application', permissions: ['User.Read.All'] })
    await service.tokens.settled()
    const from = Date.now()
    const answers = await times(5 * limit, () => ask(service.origin, '/v1.0/users?$top=1', token))
    const admitted = answers.filter(({ status }) => status === 200).length
    const seconds = 1 + Math.ceil((Date.now() - from) / 1000)
    assert.ok(admitted >= limit / 2, `${admitted} were admitted`)
    assert.ok(admitted <= limit * seconds, `${admitted} were admitted in ${seconds} seconds`)
  })
})
