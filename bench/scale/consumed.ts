import { readdirSync, readFileSync } from 'node:fs'

export interface Consumed {
  /** Microseconds of processor time. */
  readonly node: number
  readonly store: number
  /** Memory of the node, and of PostgreSQL with the shared memory counted once. */
  readonly nodeBytes: number
  readonly storeBytes: number
}

const tickMicros = 10_000

/** The processor time of the node and the servers of PostgreSQL so far, as Linux tells it. */
export function readConsumed({
  pid,
  postmasters,
}: {
  pid: number
  postmasters: readonly number[]
}): Consumed {
  const all = readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((name) => readStat(Number(name)) ?? [])
  const node = all.find((one) => one.pid === pid)
  const servers = all.filter((one) => postmasters.includes(one.pid) || postmasters.includes(one.parent))
  return {
    node: (node?.ticks ?? 0) * tickMicros,
    // Processes that ended count in that of their parent.
    store:
      servers.reduce((sum, one) => sum + one.ticks + (postmasters.includes(one.pid) ? one.ended : 0), 0) *
      tickMicros,
    nodeBytes: readBytes(pid, /^VmRSS:\s+(\d+)/m),
    storeBytes: servers.reduce((sum, one) => sum + readBytes(one.pid, /^RssAnon:\s+(\d+)/m), 0),
  }
}

function readStat(pid: number) {
  try {
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8')
      .replace(/^.*\) /s, '')
      .split(' ')
      .map(Number)
    const [, parent = 0] = fields
    return {
      pid,
      parent,
      ticks: (fields[11] ?? 0) + (fields[12] ?? 0),
      ended: (fields[13] ?? 0) + (fields[14] ?? 0),
    }
  } catch {
    return undefined
  }
}

function readBytes(pid: number, pattern: RegExp): number {
  try {
    return Number(pattern.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0) * 1024
  } catch {
    return 0
  }
}
