// What callers feel while others send hostile bodies: the median latency of a small PUT beside clients that send bodies of
// 90,000 keys again and again, as a ratio to the same PUT beside as many clients that send small ones. Run:
// node bench/hostile-bodies.ts
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { request } from 'node:http'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads'
import pino from 'pino'
import { startService } from '../src/main.ts'
import { readSettings } from '../src/settings.ts'
import { createTokens } from '../test/support/tokens.ts'

const others = 4
/** Between two bodies of one client: what they cost to send would otherwise be measured too, on the same machine. */
const pauseMs = 100
const requestsPerRound = 100
const rounds = 5

interface Target {
  readonly port: number
  readonly token: string
}

function put({ port, token }: Target, database: string, body: string): Promise<number> {
  const server = '/subscriptions/s/resourceGroups/g/providers/Vendor.Sql/servers/v'
  const url = `${server}/databases/${database}/dataMaskingPolicies/Default?api-version=2014-04-01`
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
  return new Promise((resolve, reject) => {
    const sent = request({ port, method: 'PUT', path: url, headers }, (answer) => {
      answer.resume()
      answer.on('end', () => resolve(answer.statusCode ?? 0))
    })
    sent.on('error', reject)
    sent.end(body)
  })
}

/** Milliseconds that a caller waits for an answer, while the others send their body again and again. */
async function measure(target: Target, body: string): Promise<number[]> {
  const small = JSON.stringify({ properties: { dataMaskingState: 'Disabled' } })
  const noise = new Worker(new URL(import.meta.url), { workerData: { target, body } })
  await once(noise, 'message')
  const latenciesMs: number[] = []
  for (let sent = 0; sent < requestsPerRound; sent++) {
    const startedAt = performance.now()
    if ((await put(target, 'own', small)) !== 200) throw new Error('a good request was refused')
    latenciesMs.push(performance.now() - startedAt)
  }
  await noise.terminate()
  return latenciesMs
}

const at = (values: number[], share: number) =>
  values.sort((a, b) => a - b)[Math.floor(values.length * share)] ?? 0

async function compare(): Promise<void> {
  const dataDir = await mkdtemp(path.join(tmpdir(), 'masquerade-bench-'))
  const settings = readSettings({
    MASQUERADE_DATA_DIR: dataDir,
    MASQUERADE_HTTP_PORT: '0',
    MASQUERADE_HTTPS_PORT: '0',
    MASQUERADE_GATEWAY_PORT: '0',
    MASQUERADE_DEMO: '0',
    MASQUERADE_RATE_LIMIT: '0',
  })
  const service = await startService({ settings, log: pino({ level: 'silent' }) })
  const tokens = await createTokens(service)
  const target = { port: service.listeners.httpPort, token: tokens.tokenFor({ role: 'Owner' }) }
  await tokens.settled()
  const usual = JSON.stringify({ properties: { dataMaskingState: 'Enabled', maskingLevel: '' } })
  const hostile = `{${Array.from({ length: 90_000 }, (_, n) => `"k${n}":1`).join()}}`
  const quiet: number[] = []
  const stormy: number[] = []
  for (let round = 0; round < rounds; round++) {
    quiet.push(...(await measure(target, usual)))
    stormy.push(...(await measure(target, hostile)))
  }
  const [calm, beside] = [at(quiet, 0.5), at(stormy, 0.5)]
  process.stdout.write(
    `${(beside / calm).toFixed(2)}: ${beside.toFixed(1)} to ${calm.toFixed(1)} ms, p99 ${at(stormy, 0.99).toFixed(0)} to ${at(quiet, 0.99).toFixed(0)} ms\n`,
  )
  await service.stop()
  await rm(dataDir, { recursive: true, force: true })
}

if (isMainThread) await compare()
else {
  const { target, body } = workerData as { target: Target; body: string }
  await put(target, 'other', body)
  parentPort?.postMessage('started')
  const send = async (database: string): Promise<never> => {
    for (;;) {
      await put(target, database, body)
      await setTimeout(pauseMs)
    }
  }
  await Promise.all(Array.from({ length: others }, (_, one) => send(`other-${one}`)))
}
