// Load as a process of its own: keep-alive connections that each send the next request when the answer to the last is
// whole. Reads plans on standard input, one JSON a line, and prints requests per second and latencies of each as JSON.
import { connect } from 'node:net'
import { createInterface } from 'node:readline'

export interface LoadPlan {
  readonly port: number
  readonly token: string
  readonly method?: 'GET' | 'POST' | 'PATCH'
  /** Requests take turns among these paths, and among these bodies. */
  readonly paths: readonly string[]
  readonly bodies: readonly string[]
  readonly connections: number
  readonly seconds: number
}

export interface LoadResult {
  readonly requestsPerSecond: number
  readonly medianMs: number
  readonly p99Ms: number
  readonly bytesPerAnswer: number
}

interface Tally {
  turn: number
  bytes: number
  readonly latenciesMs: number[]
}

function writeRequest({ token, method = 'POST', bodies, paths }: LoadPlan, turn: number): string {
  const path = paths[turn % paths.length] ?? '/'
  const body = bodies[turn % bodies.length] ?? ''
  return (
    `${method} ${path} HTTP/1.1\r\nhost: 127.0.0.1\r\nauthorization: Bearer ${token}\r\n` +
    `content-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`
  )
}

/** Length of the answer at the start of the buffer, once it is all there; the server sends no chunks. */
function measureAnswer(buffer: Buffer): { total: number; body: number } | undefined {
  const headEnd = buffer.indexOf('\r\n\r\n')
  if (headEnd < 0) return undefined
  const head = buffer.toString('latin1', 0, headEnd)
  if (!/^HTTP\/1\.1 20[04]/.test(head))
    throw new Error(`unexpected answer: ${buffer.toString().slice(0, 500)}`)
  const body = Number(/^content-length: (\d+)/im.exec(head)?.[1] ?? 0)
  const total = headEnd + 4 + body
  return buffer.length >= total ? { total, body } : undefined
}

function runConnection(plan: LoadPlan, endsAt: number, tally: Tally): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  const socket = connect({ port: plan.port, host: '127.0.0.1', noDelay: true })
  let received = Buffer.alloc(0)
  let sentAt = 0
  const sendNext = () => {
    sentAt = performance.now()
    socket.write(writeRequest(plan, tally.turn++))
  }
  socket.on('connect', sendNext)
  socket.on('error', reject)
  socket.on('close', () => resolve())
  socket.on('data', (chunk) => {
    received = received.length === 0 ? chunk : Buffer.concat([received, chunk])
    const answer = measureAnswer(received)
    if (!answer) return
    const now = performance.now()
    tally.latenciesMs.push(now - sentAt)
    tally.bytes += answer.body
    received = received.subarray(answer.total)
    if (now < endsAt) sendNext()
    else socket.end()
  })
  return promise
}

async function run(plan: LoadPlan): Promise<LoadResult> {
  const tally: Tally = { turn: 0, bytes: 0, latenciesMs: [] }
  const start = performance.now()
  const endsAt = start + plan.seconds * 1000
  await Promise.all(Array.from({ length: plan.connections }, () => runConnection(plan, endsAt, tally)))
  const seconds = (performance.now() - start) / 1000
  const sorted = tally.latenciesMs.toSorted((a, b) => a - b)
  const at = (share: number) => sorted[Math.floor(sorted.length * share)] ?? Number.NaN
  return {
    requestsPerSecond: sorted.length / seconds,
    medianMs: at(0.5),
    p99Ms: at(0.99),
    bytesPerAnswer: tally.bytes / sorted.length,
  }
}

if (import.meta.main)
  for await (const line of createInterface(process.stdin))
    process.stdout.write(`${JSON.stringify(await run(JSON.parse(line)))}\n`)
