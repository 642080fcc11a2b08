// The cost of the gateway: one-row reads by key, bulk reads and logins through it, against a direct connection to a masked
// view written by hand, PgBouncer in session mode, and a bare pipe in Node, all before the same PostgreSQL and in turns.
// Every figure is the median of the ratios of its rounds. Run: npx node bench/gateway.ts [rounds] [seconds]
import { execFile } from 'node:child_process'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { availableParallelism, loadavg, tmpdir } from 'node:os'
import path from 'node:path'
import { promisify } from 'node:util'
import { openPlaces, type Place, password, role, rows } from './gateway/places.ts'
import { median } from './median.ts'

const rounds = Number(process.argv[2] ?? 31)
const seconds = Number(process.argv[3] ?? 1)
const warmSeconds = 8
const run = promisify(execFile)

type Protocol = 'simple' | 'prepared'
interface Sample {
  /** Statements per second, or runs per second: more is better. */
  readonly rate: number
  /** Processor time that the process in between took for each. */
  readonly micros: number
}
type Samples = ReadonlyMap<Place, Sample[]>

function findProgram(name: string): string | undefined {
  const debian = '/usr/lib/postgresql'
  const directories = [
    ...(existsSync(debian) ? readdirSync(debian).map((version) => `${debian}/${version}/bin`) : []),
    ...(process.env.PATH ?? '').split(':'),
  ]
  return directories.map((at) => path.join(at, name)).find((file) => existsSync(file))
}

function environmentOf({ port, database }: Place): NodeJS.ProcessEnv {
  return {
    PATH: process.env.PATH,
    PGHOST: '127.0.0.1',
    PGPORT: String(port),
    PGUSER: role,
    PGPASSWORD: password,
    PGDATABASE: database,
    PGSSLMODE: 'disable',
    PGGSSENCMODE: 'disable',
  }
}

/** In microseconds; 0 where nobody says. */
function readProcessorTime({ pids }: Place): number {
  const ticks = pids.map((pid) => {
    if (!existsSync(`/proc/${pid}/stat`)) return 0
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8')
      .replace(/^.*\) /s, '')
      .split(' ')
    return Number(fields[11]) + Number(fields[12])
  })
  return ticks.reduce((sum, count) => sum + count, 0) * 10_000
}

async function runPgbench(
  pgbench: string,
  place: Place,
  script: string,
  args: string[],
  forSeconds = seconds,
): Promise<Sample> {
  const directory = mkdtempSync(path.join(tmpdir(), 'masquerade-bench-'))
  const file = path.join(directory, 'script.sql')
  writeFileSync(file, script)
  const before = readProcessorTime(place)
  try {
    const all = ['-n', '-f', file, '-T', String(forSeconds), ...args]
    const { stdout } = await run(pgbench, all, { env: environmentOf(place) })
    const rate = Number(/^tps = ([\d.]+)/m.exec(stdout)?.[1])
    const count = Number(/transactions actually processed: (\d+)/.exec(stdout)?.[1])
    if (!/failed transactions: 0 /.test(stdout)) throw new Error(stdout)
    return { rate, micros: (readProcessorTime(place) - before) / count }
  } finally {
    rmSync(directory, { recursive: true })
  }
}

function readByKey(pgbench: string, protocol: Protocol, clients: number, forSeconds?: number) {
  return (place: Place) =>
    runPgbench(
      pgbench,
      place,
      `\\set aid random(1, ${rows})\nselect aid, name, email, balance from ${place.relation} where aid = :aid;\n`,
      ['-M', protocol, '-c', String(clients)],
      forSeconds,
    )
}

function readAll(psql: string, text: (relation: string) => string) {
  return async (place: Place): Promise<Sample> => {
    const before = readProcessorTime(place)
    const start = performance.now()
    const command = `exec "$0" -X -q -A -t -c "$1" > /dev/null`
    await run('/bin/sh', ['-c', command, psql, text(place.relation)], { env: environmentOf(place) })
    const ms = performance.now() - start
    return { rate: 1000 / ms, micros: readProcessorTime(place) - before }
  }
}

async function takeTurns(places: readonly Place[], measure: (place: Place) => Promise<Sample>) {
  const samples = new Map(places.map((place) => [place, [] as Sample[]]))
  for (const place of places) await measure(place)
  for (let round = 0; round < rounds; round++)
    for (const place of round % 2 === 0 ? places : places.toReversed())
      samples.get(place)?.push(await measure(place))
  return samples
}

function show(
  title: string,
  samples: Samples,
  unit: 'per second' | 'ms',
  targets: Record<string, number> = {},
) {
  const last = [...samples.keys()].at(-1)
  const own = last && samples.get(last)
  if (!own) return
  const ratios = [...samples]
    .filter(([place]) => place !== last)
    .map(([{ name }, theirs]) => {
      const ratio = median(own.map(({ rate }, at) => rate / (theirs[at]?.rate ?? Number.NaN)))
      const target = targets[name] === undefined ? '' : ` (at least ${targets[name]})`
      return `${ratio.toFixed(2)} of ${name}${target}`
    })
  const figures = [...samples].map(([{ name, pids }, all]) => {
    const rate = median(all.map((each) => each.rate))
    const micros = median(all.map((each) => each.micros))
    const spent = pids.length === 0 || unit === 'ms' ? '' : `, ${micros.toFixed(0)} µs`
    return `${name} ${unit === 'ms' ? `${(1000 / rate).toFixed(1)} ms` : `${rate.toFixed(0)}/s${spent}`}`
  })
  console.log(`${title}: ${ratios.join(', ')}\n    ${figures.join('; ')}; load ${loadavg()[0]?.toFixed(1)}`)
}

async function measureAll(): Promise<void> {
  const pgbench = findProgram('pgbench')
  const psql = findProgram('psql')
  await using places = await openPlaces()
  const { direct, pipe, bouncer, gateway } = places
  const all = [direct, ...(bouncer ? [bouncer] : []), pipe, gateway]
  if (!bouncer) console.log('skipped: PgBouncer is not installed')
  const protocols = ['simple', 'prepared'] as const
  /** Long enough for what a process does once: after it came up it compiles what it runs. */
  const warm = async (pgbench: string, place: Place) => {
    for (const protocol of protocols) await readByKey(pgbench, protocol, 4, warmSeconds)(place)
  }
  if (pgbench) {
    for (const place of all) if (place !== direct) await warm(pgbench, place)
    for (const protocol of protocols)
      for (const clients of [1, 8]) {
        const samples = await takeTurns(all, readByKey(pgbench, protocol, clients))
        const name = `one row by key, ${protocol}, ${clients} client${clients > 1 ? 's' : ''}`
        show(name, samples, 'per second', { pipe: protocol === 'simple' ? 0.85 : 0.95 })
      }
    const connect = (place: Place) => runPgbench(pgbench, place, 'select 1;\n', ['-C', '-c', '1'])
    show('a new connection for each statement', await takeTurns(all, connect), 'ms')
  } else console.log('skipped: pgbench is not installed')
  if (psql) {
    const columns = 'aid, name, email, balance'
    const bulk = {
      'COPY of a million rows': (from: string) => `copy (select ${columns} from ${from}) to stdout`,
      'SELECT of a million rows': (from: string) => `select ${columns} from ${from}`,
    }
    for (const [title, text] of Object.entries(bulk))
      show(title, await takeTurns([pipe, direct, gateway], readAll(psql, text)), 'ms', { direct: 0.9 })
  } else console.log('skipped: psql is not installed')
  const cores = availableParallelism()
  console.log(`${cores} cores`)
  if (pgbench && cores > 1) {
    const workers = await places.openWorkers(cores)
    await warm(pgbench, workers)
    for (const protocol of protocols) {
      const samples = await takeTurns([pipe, gateway, workers], readByKey(pgbench, protocol, 8))
      show(`one row by key, ${protocol}, 8 clients, ${cores} workers`, samples, 'per second')
      const rate = median((samples.get(workers) ?? []).map((each) => each.rate))
      console.log(`    ${(rate / cores).toFixed(0)}/s per worker`)
    }
    if (cores < 4)
      console.log(
        '    pgbench and PostgreSQL take all that there is of so few cores: workers have none to spare',
      )
  }
}

await measureAll()
// PostgreSQL's test support may keep connections open: the process ends with them.
process.exit(0)
