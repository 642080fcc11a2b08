// The cost of requests and gateway sessions as the directory and the number of sessions grow: processor time of the node and of
// PostgreSQL together for each request, and memory. Each size is a service of its own. All are measured in turns, and each figure
// is also printed as a ratio to the first size of the same round.
// Run: npm run bench bench/scale.ts [users[,users…]|none] [sessions[,sessions…]|none] [rounds] [seconds per kind of request]
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { median } from './median.ts'
import { openLoad } from './open-load.ts'
import { type Consumed, readConsumed } from './scale/consumed.ts'
import { openSessions } from './scale/open-sessions.ts'
import type { Ready } from './scale/service.ts'

const readList = (text: string) => (text === 'none' ? [] : text.split(',').map(Number))
const sizes = readList(process.argv[2] ?? '1000,10000,100000,1000000')
const sessionCounts = readList(process.argv[3] ?? '10,100,1000')
const rounds = Number(process.argv[4] ?? 5)
const seconds = Number(process.argv[5] ?? 2)
const connections = 8
const usersBesideSessions = 1_000

interface Node {
  readonly users: number
  readonly ready: Ready
  readonly child: ChildProcess
}

const folder = await mkdtemp(path.join(tmpdir(), 'masquerade-scale-'))
const load = openLoad()

async function startNode(users: number, kind: 'directory' | 'gateway'): Promise<Node> {
  const child = fork(path.join(import.meta.dirname, 'scale/service.ts'), [
    path.join(folder, `${kind}-${users}`),
    String(users),
    kind,
  ])
  const [ready] = (await Promise.race([once(child, 'message'), failWith(child)])) as [Ready]
  return { users, ready, child }
}

async function failWith(child: ChildProcess): Promise<never> {
  const [code] = await once(child, 'exit')
  throw new Error(`the service ended with ${code}`)
}

async function stopNode({ child }: Node): Promise<void> {
  const ended = once(child, 'exit')
  child.disconnect()
  await ended
}

const count = (value: number) => value.toLocaleString('en')
const megabytes = (bytes: number) => `${(bytes / 1e6).toFixed(0)} MB`

/** Microseconds of a core for each, by the node and by PostgreSQL. */
function share(before: Consumed, after: Consumed, number: number) {
  return { node: (after.node - before.node) / number, store: (after.store - before.store) / number }
}

/** The median, and the median of the ratios to the first size, round by round. */
function summarise(values: readonly number[], first: readonly number[]): string {
  const ratio = median(values.map((value, round) => value / (first[round] ?? Number.NaN)))
  return `${median(values).toFixed(0)} µs (ratio ${ratio.toFixed(2)})`
}

async function measureRequests({ ready }: Node, kind: string): Promise<{ cost: number; bytes: number }> {
  const plan = ready.plans[kind]
  if (!plan) throw new Error(`there is no request ${kind}`)
  const before = readConsumed(ready)
  const result = await load.run({ port: ready.httpPort, connections, ...plan, seconds })
  const { node, store } = share(before, readConsumed(ready), result.requestsPerSecond * seconds)
  return { cost: node + store, bytes: result.bytesPerAnswer }
}

async function measureUsers(nodes: readonly Node[]): Promise<void> {
  const [first] = nodes
  if (!first) return
  const kinds = Object.keys(first.ready.plans)
  const costs = new Map<string, number[]>()
  const sizesOfAnswers = new Map<string, number>()
  // The first round warms up.
  for (let round = 0; round <= rounds; round++)
    for (const kind of kinds)
      for (const node of nodes) {
        const key = `${kind} ${node.users}`
        const { cost, bytes } = await measureRequests(node, kind)
        if (round > 0) costs.set(key, [...(costs.get(key) ?? []), cost])
        sizesOfAnswers.set(key, bytes)
      }
  for (const kind of kinds)
    for (const { users } of nodes) {
      const key = `${kind} ${users}`
      const bytes = sizesOfAnswers.get(key) ?? Number.NaN
      const cost = summarise(costs.get(key) ?? [], costs.get(`${kind} ${first.users}`) ?? [])
      console.log(`${kind}, ${count(users)} users: ${cost}, ${bytes.toFixed(0)} bytes`)
    }
  showMemory(nodes)
}

function showMemory(nodes: readonly Node[]): void {
  let least: Consumed | undefined
  for (const { users, ready } of nodes) {
    const now = readConsumed(ready)
    least ??= now
    console.log(
      `memory, ${count(users)} users: node ${megabytes(now.nodeBytes)} (ratio ${(now.nodeBytes / least.nodeBytes).toFixed(2)}), of it the index of memberships ${megabytes(ready.indexBytes)}, loaded in ${ready.indexSeconds.toFixed(1)} s; PostgreSQL ${megabytes(now.storeBytes)} (ratio ${(now.storeBytes / least.storeBytes).toFixed(2)}) and ${megabytes(ready.diskBytes)} on disk, filled in ${ready.filledSeconds.toFixed(0)} s`,
    )
  }
}

/**
 * Sessions are added to those that are open, and all of them read; in each round from the smallest number. The first round warms
 * up and tells of memory: what sessions leave behind is used again by the next.
 */
async function measureSessions({ ready }: Node): Promise<void> {
  const costs = { node: new Map<number, number[]>(), store: new Map<number, number[]>() }
  for (let round = 0; round <= rounds; round++) {
    const idle = readConsumed(ready)
    const sessions = openSessions(ready)
    for (const number of sessionCounts) {
      const begun = readConsumed(ready)
      const added = await sessions.open(number)
      const opened = readConsumed(ready)
      await sessions.run(1)
      const before = readConsumed(ready)
      if (round === 0) {
        showOpened(number, share(begun, opened, added), idle, before)
        continue
      }
      const statements = await sessions.run(seconds)
      const cost = share(before, readConsumed(ready), statements)
      for (const side of ['node', 'store'] as const)
        costs[side].set(number, [...(costs[side].get(number) ?? []), cost[side]])
    }
    await sessions.close()
  }
  for (const number of sessionCounts) {
    const [node, store] = [costs.node, costs.store].map((side) =>
      summarise(side.get(number) ?? [], side.get(sessionCounts[0] ?? 0) ?? []),
    )
    console.log(`a statement, ${count(number)} sessions: node ${node}, PostgreSQL ${store}`)
  }
}

function showOpened(number: number, login: { node: number; store: number }, idle: Consumed, now: Consumed) {
  const perSession = (kind: 'nodeBytes' | 'storeBytes') =>
    `${((now[kind] - idle[kind]) / number / 1000).toFixed(0)} KB`
  console.log(
    `${count(number)} sessions: node ${megabytes(now.nodeBytes)} (ratio ${(now.nodeBytes / idle.nodeBytes).toFixed(2)} to none), ${perSession('nodeBytes')} a session, PostgreSQL ${perSession('storeBytes')} a session; a login ${(login.node / 1000).toFixed(1)} ms of the node and ${(login.store / 1000).toFixed(1)} ms of PostgreSQL`,
  )
}

const nodes: Node[] = []
try {
  for (const users of sizes) nodes.push(await startNode(users, 'directory'))
  await measureUsers(nodes)
  for (const node of nodes.splice(0)) await stopNode(node)
  if (sessionCounts.length > 0) {
    const gateway = await startNode(usersBesideSessions, 'gateway')
    nodes.push(gateway)
    await measureSessions(gateway)
  }
} finally {
  for (const node of nodes) await stopNode(node)
  load.close()
  await rm(folder, { recursive: true, force: true })
}
