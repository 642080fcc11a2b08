// The latency of callers while others send hostile bodies: the median latency of a small PUT beside clients that send bodies of
// very many keys again and again, as a ratio to the same PUT beside as many clients that send small ones. Bodies of 90,000
// keys go to a policy, those of 199,000, which the limits of a document let in, to its document. Run:
// node bench/hostile-bodies.ts
import { once } from 'node:events'
import { request } from 'node:http'
import { setTimeout } from 'node:timers/promises'
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads'
import { createTokens } from '../test/support/tokens.ts'
import { openService } from './open-service.ts'

const others = 4
/** Between two bodies of one client: what they cost to send would otherwise be measured too, on the same machine. */
const pauseMs = 100
const requestsPerRound = 100
const rounds = 5

interface Target {
  readonly port: number
  readonly token: string
}

interface Noise {
  /** Below the policy. */
  readonly path: '' | '/document'
  readonly body: string
}

function put({ port, token }: Target, database: string, { path, body }: Noise): Promise<number> {
  const server = '/subscriptions/s/resourceGroups/g/providers/Vendor.Sql/servers/v'
  const url = `${server}/databases/${database}/dataMaskingPolicies/Default${path}?api-version=2014-04-01`
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
async function measure(target: Target, noise: Noise): Promise<number[]> {
  const small: Noise = { path: '', body: JSON.stringify({ properties: { dataMaskingState: 'Disabled' } }) }
  const senders = new Worker(new URL(import.meta.url), { workerData: { target, noise } })
  await once(senders, 'message')
  const latenciesMs: number[] = []
  for (let sent = 0; sent < requestsPerRound; sent++) {
    const startedAt = performance.now()
    const status = await put(target, 'own', small)
    if (status !== 200) throw new Error(`a good request was answered with ${status}`)
    latenciesMs.push(performance.now() - startedAt)
  }
  await senders.terminate()
  return latenciesMs
}

const at = (values: number[], share: number) =>
  values.sort((a, b) => a - b)[Math.floor(values.length * share)] ?? 0

const flatKeys = (count: number) => `{${Array.from({ length: count }, (_, n) => `"k${n}":1`).join()}}`

const hostile: readonly { readonly name: string; readonly noise: Noise }[] = [
  { name: '90,000 keys to a policy', noise: { path: '', body: flatKeys(90_000) } },
  { name: '199,000 keys to a document', noise: { path: '/document', body: flatKeys(199_000) } },
  {
    name: 'the same inside of its rules',
    noise: { path: '/document', body: `{"properties":{"rules":[${flatKeys(199_000)}]}}` },
  },
  {
    name: '19,900 rules of unknown keys',
    noise: {
      path: '/document',
      body: `{"properties":{"rules":[${Array.from({ length: 19_900 }, () => flatKeys(10)).join()}]}}`,
    },
  },
  { name: '28,000 rules of known keys', noise: { path: '/document', body: shuffledRules() } },
]

/** Known keys in ever new orders: the costliest that the limits and the names of a document let through. */
function shuffledRules(): string {
  const names = [
    'name',
    'schemaName',
    'tableName',
    'columnName',
    'maskingFunction',
    'aliasName',
    'numberFrom',
  ]
  const shuffle = (at: number) => names.map((name, n) => [((n + 1) * (at + 7)) % 101, name] as const)
  const rules = Array.from({ length: 28_000 }, (_, at) => {
    const keys = shuffle(at).sort(([a], [b]) => a - b)
    return `{${keys.map(([, name]) => `"${name}":1`).join()}}`
  })
  return `{"properties":{"rules":[${rules.join()}]}}`
}

async function compare(): Promise<void> {
  const service = await openService()
  const tokens = await createTokens(service)
  const target = { port: service.listeners.httpPort, token: tokens.tokenFor({ role: 'Owner' }) }
  await tokens.settled()
  const usual: Noise = {
    path: '',
    body: JSON.stringify({ properties: { dataMaskingState: 'Enabled', maskingLevel: '' } }),
  }
  const quiet: number[] = []
  const stormy = new Map(hostile.map(({ name }) => [name, [] as number[]]))
  for (let round = 0; round < rounds; round++) {
    quiet.push(...(await measure(target, usual)))
    for (const { name, noise } of hostile) stormy.get(name)?.push(...(await measure(target, noise)))
  }
  const calm = at(quiet, 0.5)
  for (const [name, latenciesMs] of stormy) {
    const beside = at(latenciesMs, 0.5)
    process.stdout.write(
      `${(beside / calm).toFixed(2)} ${name}: ${beside.toFixed(1)} to ${calm.toFixed(1)} ms, p99 ${at(latenciesMs, 0.99).toFixed(0)} to ${at(quiet, 0.99).toFixed(0)} ms\n`,
    )
  }
  await service.close()
}

if (isMainThread) await compare()
else {
  const { target, noise } = workerData as { target: Target; noise: Noise }
  await put(target, 'other', noise)
  parentPort?.postMessage('started')
  const send = async (database: string): Promise<never> => {
    for (;;) {
      await put(target, database, noise)
      await setTimeout(pauseMs)
    }
  }
  await Promise.all(Array.from({ length: others }, (_, one) => send(`other-${one}`)))
}
