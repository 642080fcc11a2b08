// npm test: the checks, then every test. npm run test:all: more runs of what is random, and every test that uses a
// database on each PostgreSQL that we support. npm run check: the checks and the house tests. With names of files or
// folders: the tests in them. With --slow, tests of a second and longer are named. What failed among other files is
// shown once more at the end. The last line is always the tally.
import { globSync, readFileSync, statSync } from 'node:fs'
import { constants } from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import type { ClusterName } from '../test/support/cluster.ts'
import { fetchPostgres, otherMajors } from './test/fetch-postgres.ts'
import { runCheck } from './test/run-check.ts'
import { countShards, type RunOptions, runFiles } from './test/run-files.ts'
import {
  addTally,
  describeSlowest,
  describeTally,
  emptyTally,
  type Report,
  shorten,
  type Tally,
} from './test/tally.ts'
import { openTemporaryFolder } from './test/temporary-folder.ts'

const root = fileURLToPath(new URL('..', import.meta.url))
const checks = [
  {
    name: 'format and lint',
    command: ['@biomejs/biome', 'biome', 'ci', '--error-on-warnings', '--colors=off', '.'],
  },
  { name: 'types', command: ['typescript', 'tsc', '-p', '.'] },
  { name: 'types of the portal', command: ['typescript', 'tsc', '-p', 'portal'] },
] as const
const usage =
  'Usage: npm test -- [--name PATTERN] [--slow] [FILE OR FOLDER …], npm run test:all, or npm run check'

class UsageError extends Error {}

process.chdir(root)
// Shards, and the commands that tests start, load the same modules again and again.
process.env.NODE_COMPILE_CACHE ??= path.join(root, 'node_modules/.cache/compiled')
const stopping = new AbortController()
let signalReceived: NodeJS.Signals | undefined
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
  process.on(signal, () => {
    signalReceived ??= signal
    stopping.abort()
  })

/** What to show before the tally, because the first showing of it may be thousands of lines above. */
const failures: string[] = []
const reports: Report[] = []
const tally = await runEverything().catch((error: unknown): Tally => {
  console.log(error instanceof UsageError ? error.message : error)
  return { ...emptyTally, failed: 1 }
})
if (signalReceived) console.log(`Stopped by ${signalReceived}.`)
else if (tally.passed + tally.failed === 0) console.log('No test ran.')
if (reports.length > 50) console.log(['the slowest files:', ...describeSlowest(reports)].join('\n'))
for (const text of failures) console.log(text)
console.log(describeTally(tally))
process.exitCode = signalReceived
  ? 128 + constants.signals[signalReceived]
  : tally.failed > 0 || tally.passed === 0
    ? 1
    : 0

async function runEverything(): Promise<Tally> {
  using temporary = openTemporaryFolder()
  if (temporary) process.env.TMPDIR = temporary.path
  const { names, namePattern, isCheckOnly, isAll, isSlowShown } = readArguments()
  const files = names.length > 0 ? names.flatMap(findTests) : findTests(isCheckOnly ? 'test/house' : 'test')
  let total = emptyTally
  const isOneFile = names.length > 0 && files.length === 1
  const print = (report: Report) => {
    console.log(report.text)
    if (report.tally.failed > 0 && !isOneFile) failures.push(shorten(report.text))
    total = addTally(total, report.tally)
    reports.push(report)
  }
  // Generous, because a machine may be busy with other things.
  const timeoutMs = (isAll ? 60 : 10) * 60_000
  const slowFromMs = isSlowShown ? 1000 : undefined
  const options = { namePattern, signal: stopping.signal, timeoutMs, slowFromMs, print }
  if (isAll) {
    process.env.MASQUERADE_TEST_ALL = '1'
    process.env.MASQUERADE_TEST_RUNS ??= '20'
    process.env.MASQUERADE_TEST_SECONDS ??= '10'
  }
  const checked =
    names.length > 0 ? [] : checks.map(async (check) => print(await runCheck(check, stopping.signal)))
  await runOnClusters(files, undefined, options, checked)
  if (isAll) await runOnOtherMajors(files, options)
  return total
}

/** Everything that stores or masks in a database, on the versions that `npm test` does not cover. */
async function runOnOtherMajors(files: string[], options: RunOptions): Promise<void> {
  delete process.env.MASQUERADE_TEST_RUNS
  delete process.env.MASQUERADE_TEST_SECONDS
  for (const major of otherMajors) {
    if (stopping.signal.aborted) return
    console.log(`on PostgreSQL ${major}`)
    try {
      fetchPostgres(major)
    } catch (error) {
      console.log(`left out: ${error instanceof Error ? error.message : error}`)
      continue
    }
    await runOnClusters(files.filter(mayNeedDatabase), [`fetched-${major}`], options)
  }
}

async function runOnClusters(
  files: string[],
  names: ClusterName[] | undefined,
  options: RunOptions,
  before: Promise<void>[] = [],
): Promise<void> {
  const starting = files.some(mayNeedDatabase) ? startClusters(files, names) : undefined
  try {
    await Promise.all([starting, ...before])
    const sets = (await starting)?.sets
    if (!stopping.signal.aborted) await runFiles(files, sets ? { ...options, clusters: sets } : options)
  } finally {
    await (await starting?.catch(() => undefined))?.stop()
  }
}

function mayNeedDatabase(file: string): boolean {
  return /\/support\/(?!clause|runs|wait-until)/.test(readFileSync(file, 'utf8'))
}

/** In `npm test` few files look at another PostgreSQL than the embedded one: those of dumps and of other programs. */
function mayNeedInstalled(file: string): boolean {
  return /listClusters|dump-programs|privileges/.test(readFileSync(file, 'utf8'))
}

/** Loaded late: a fault in the sources fails the run, and must not keep it from saying so in its last line. */
async function startClusters(files: string[], names?: ClusterName[]) {
  const cluster = await import('../test/support/cluster.ts')
  const isEmbeddedEnough = !process.env.MASQUERADE_TEST_ALL && !files.some(mayNeedInstalled)
  return await cluster.startClusterSets(
    countShards(files),
    names ?? (isEmbeddedEnough ? ['embedded-18'] : cluster.listClusterNames()),
  )
}

function readArguments(): {
  names: string[]
  namePattern: string | undefined
  isCheckOnly: boolean
  isAll: boolean
  isSlowShown: boolean
} {
  try {
    const { values, positionals } = parseArgs({
      options: {
        check: { type: 'boolean', default: false },
        all: { type: 'boolean', default: false },
        slow: { type: 'boolean', default: false },
        name: { type: 'string', short: 't' },
      },
      allowPositionals: true,
    })
    return {
      names: positionals,
      namePattern: values.name,
      isCheckOnly: values.check,
      isAll: values.all,
      isSlowShown: values.slow,
    }
  } catch (error) {
    throw new UsageError(`${error instanceof Error ? error.message : error}\n${usage}`)
  }
}

function findTests(name: string): string[] {
  const relative = path.relative(root, path.resolve(name))
  const stats = statSync(relative, { throwIfNoEntry: false })
  if (!stats) throw new UsageError(`There is no file or folder ${name}.\n${usage}`)
  return stats.isDirectory() ? globSync(`${relative}/**/*.test.ts`).sort() : [relative]
}
