import assert from 'node:assert/strict'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, describe } from 'node:test'
import { clause } from '../../support/clause.ts'
import { runHere, settleIn } from '../../support/run-here.ts'
import { startTestService, type TestService } from '../../support/service.ts'
import { stealTokens } from '../../support/thief.ts'

describe('looking at a service that was killed', () => {
  let service: TestService
  let environment: Record<string, string>
  before(async () => {
    service = await startTestService()
    environment = await settleIn(service)
  })
  after(() => service[Symbol.asyncDispose]())

  clause(
    'SVC-116',
    '`masquerade status` and `doctor` believe what a service says of its readiness once the service has proven itself (SVC-111)…',
    async () => {
      const look = async () => {
        const { code, stdout } = await runHere(['status', '--json'], { environment })
        return [code, JSON.parse(stdout).state]
      }
      const examine = async () => {
        const { stdout } = await runHere(['doctor', '--json'], { environment })
        const findings = JSON.parse(stdout) as { check: string; state: string }[]
        return findings.find(({ check }) => check === 'service')?.state
      }
      assert.deepEqual([...(await look()), await examine()], [0, 'ready', 'ok'])
      const file = join(service.dataDir, 'run.json')
      const text = await readFile(file, 'utf8')
      const { certificate: _, ...older } = JSON.parse(text)
      await writeFile(file, JSON.stringify(older))
      assert.deepEqual(await look(), [0, 'ready'])
      await writeFile(file, text)

      const { httpPort, httpsPort } = service.listeners
      await service.listeners.close(0)
      assert.deepEqual(await look(), [3, 'not running'])
      await using _plain = await stealTokens(httpPort, false)
      await using _encrypted = await stealTokens(httpsPort, true)
      assert.deepEqual([...(await look()), await examine()], [3, 'not running', 'problem'])
    },
  )
})
