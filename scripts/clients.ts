// npm run test:clients: walks through the service with the official clients of every language, as they are. With names
// of walks: these alone. Clients are installed into a cache outside the tree, by the package managers that the machine
// has. One line per walk; the last line is the tally.
import { fileURLToPath } from 'node:url'
import { Unavailable } from './clients/install.ts'
import { runWalk } from './clients/run-walk.ts'
import { type Walk, walks } from './clients/walks.ts'
import { describeDuration, describeTally, indent, paint } from './test/tally.ts'

process.chdir(fileURLToPath(new URL('..', import.meta.url)))
const tally = { passed: 0, failed: 0, skipped: 0 }
try {
  await walkAll(chooseWalks(process.argv.slice(2)))
} catch (error) {
  tally.failed += 1
  console.log(error)
}
const { passed, failed, skipped } = tally
console.log(skipped > 0 ? describeTally(tally) : `${passed} passed, ${failed} failed, 0 skipped`)
process.exit(failed > 0 || passed === 0 ? 1 : 0)

function chooseWalks(names: readonly string[]): readonly Walk[] {
  const unknown = names.find((name) => !walks.some((walk) => walk.name === name))
  if (unknown !== undefined)
    throw new Error(`There is no walk ${unknown}. There are: ${walks.map(({ name }) => name).join(', ')}.`)
  return walks.filter(({ name, isOfDescription }) =>
    names.length === 0 ? !isOfDescription : names.includes(name),
  )
}

async function walkAll(chosen: readonly Walk[]): Promise<void> {
  const { startClusters } = await import('../test/support/cluster.ts')
  const { clusters, stop } = await startClusters(['embedded-18'])
  process.env.MASQUERADE_TEST_CLUSTERS = JSON.stringify(clusters)
  try {
    const { startWalkedService } = await import('./clients/walked-service.ts')
    await using service = await startWalkedService()
    for (const walk of chosen) await report(walk, service.environment)
  } finally {
    await stop()
  }
}

async function report(walk: Walk, environment: NodeJS.ProcessEnv): Promise<void> {
  const startedAt = performance.now()
  try {
    const { versions, checks, complaint } = await runWalk(walk, environment)
    const took = paint('dim', `· ${describeDuration(performance.now() - startedAt)}`)
    if (complaint === undefined) {
      tally.passed += 1
      console.log(`${paint('green', '✓')} ${walk.name}: ${versions}: ${checks} checks passed ${took}`)
      return
    }
    tally.failed += 1
    console.log(
      `${paint('red', '✗')} ${walk.name}: failed after ${checks} checks ${took}\n${indent(complaint)}`,
    )
  } catch (error) {
    if (!(error instanceof Unavailable)) throw error
    tally.skipped += 1
    console.log(`- ${walk.name}: skipped: ${error.message}`)
  }
}
