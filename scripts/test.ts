// npm test: the checks, then every test. npm run check: the checks and the house tests. With names of files or
// folders: the tests in them. The last line is always the tally.
import { globSync, readFileSync, statSync } from 'node:fs'
import { constants } from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { runCheck } from './test/run-check.ts'
import { runFiles } from './test/run-files.ts'
import { addTally, describeTally, emptyTally, type Report, type Tally } from './test/tally.ts'

const root = fileURLToPath(new URL('..', import.meta.url))
const checks = [
  {
    name: 'format and lint',
    command: ['@biomejs/biome', 'biome', 'ci', '--error-on-warnings', '--colors=off', '.'],
  },
  { name: 'types', command: ['typescript', 'tsc', '-p', '.'] },
] as const
const usage = 'Usage: npm test -- [--name PATTERN] [FILE OR FOLDER …], or npm run check'

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

const tally = await runEverything().catch((error: unknown): Tally => {
  console.log(error instanceof UsageError ? error.message : error)
  return { ...emptyTally, failed: 1 }
})
if (signalReceived) console.log(`Stopped by ${signalReceived}.`)
else if (tally.passed + tally.failed === 0) console.log('No test ran.')
console.log(describeTally(tally))
process.exitCode = signalReceived
  ? 128 + constants.signals[signalReceived]
  : tally.failed > 0 || tally.passed === 0
    ? 1
    : 0

async function runEverything(): Promise<Tally> {
  const { names, namePattern, isCheckOnly } = readArguments()
  const files = names.length > 0 ? names.flatMap(findTests) : findTests(isCheckOnly ? 'test/house' : 'test')
  let total = emptyTally
  const print = (report: Report) => {
    console.log(report.text)
    total = addTally(total, report.tally)
  }
  const clusters = files.some(mayNeedDatabase) ? startClusters() : undefined
  try {
    if (names.length === 0)
      await Promise.all(checks.map(async (check) => print(await runCheck(check, stopping.signal))))
    process.env.MASQUERADE_TEST_CLUSTERS = JSON.stringify((await clusters)?.clusters ?? [])
    if (!stopping.signal.aborted) await runFiles(files, { namePattern, signal: stopping.signal, print })
  } finally {
    await (await clusters)?.stop()
  }
  return total
}

function mayNeedDatabase(file: string): boolean {
  return readFileSync(file, 'utf8').includes('/support/')
}

/** Loaded late: a fault in the sources fails the run, and must not keep it from saying so in its last line. */
async function startClusters() {
  const cluster = await import('../test/support/cluster.ts')
  return await cluster.startClusters()
}

function readArguments(): { names: string[]; namePattern: string | undefined; isCheckOnly: boolean } {
  try {
    const { values, positionals } = parseArgs({
      options: { check: { type: 'boolean', default: false }, name: { type: 'string', short: 't' } },
      allowPositionals: true,
    })
    return { names: positionals, namePattern: values.name, isCheckOnly: values.check }
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
