import assert from 'node:assert/strict'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { createNodeCertificate } from '../../../src/http/local-ca.ts'
import { clause } from '../../support/clause.ts'
import { makeOperatorCertificate } from '../../support/operator-certificate.ts'
import { runHere, settleIn } from '../../support/run-here.ts'
import { startTestService, type TestService } from '../../support/service.ts'
import { stealPasswords, stealTokens } from '../../support/thief.ts'

const unproven =
  /^masquerade: The program at https:\/\/127\.0\.0\.1:\d+ has not proven to be the service of this data directory/

describe('commands after the service was killed', () => {
  let service: TestService
  let environment: Record<string, string>
  let folder: string
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'masquerade-killed-'))
    service = await startTestService(await makeOperatorCertificate())
    environment = await settleIn(service)
  })
  after(async () => {
    await service[Symbol.asyncDispose]()
    await rm(folder, { recursive: true, force: true })
  })

  clause(
    'SVC-113',
    'A command that finds at the port of the service a program that has not proven itself says that the service may be starting again…',
    async () => {
      // The file of the start before, which stays until the service is ready again.
      const file = join(service.dataDir, 'run.json')
      const text = await readFile(file, 'utf8')
      const { cert } = await createNodeCertificate()
      await writeFile(file, JSON.stringify({ ...JSON.parse(text), certificate: cert }))
      const { code, stderr } = await runHere(['group', 'list', '--admin'], { environment })
      await writeFile(file, text)
      assert.equal(code, 3, stderr)
      assert.match(stderr, unproven)
      assert.match(stderr, /starting again/)
      assert.doesNotMatch(stderr, /the service was killed\./)
    },
  )

  clause(
    'SVC-111',
    'A command of the operator (`--admin`, `--token`) sends a token to the service of its data directory only once…',
    async () => {
      const list = (...more: string[]) => runHere(['group', 'list', ...more], { environment })
      // The names of the operator's certificate do not matter, and the command need not know where it is.
      assert.deepEqual(await list('--admin').then(({ code, stderr }) => [code, stderr]), [0, ''])

      const { httpPort, httpsPort } = service.listeners
      await service.listeners.close(0)
      await using plain = await stealTokens(httpPort, false)
      await using encrypted = await stealTokens(httpsPort, true)
      for (const more of [['--admin'], ['--token', 'secret']]) {
        const { code, stderr } = await list(...more)
        assert.equal(code, 3, stderr)
        assert.match(stderr, unproven)
      }
      assert.deepEqual([plain.heard, encrypted.heard], [[], []])
    },
  )

  test('the password of the embedded database goes to no server that does not know it', async () => {
    await using thief = await stealPasswords()
    await writeFile(join(folder, 'postgres-port'), String(thief.port))
    await writeFile(join(folder, 'postgres-password'), 'secret')
    const { code } = await runHere(['token', '--admin'], { environment: { MASQUERADE_DATA_DIR: folder } })
    assert.equal(code, 1)
    assert.deepEqual(thief.heard, [])
  })
})
