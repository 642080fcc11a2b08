// npm run test:cluster: three nodes and three PostgreSQL servers under Patroni, with faults.
import { isGood } from '../test/cluster/history.ts'
import { listMissing } from '../test/cluster/patroni-store.ts'
import { mostSeconds, runCluster } from '../test/cluster/run-cluster.ts'

const minutes = Number(process.env.MASQUERADE_CLUSTER_MINUTES ?? 20)
const only = process.env.MASQUERADE_CLUSTER_FAULT?.split(',')
const missing = listMissing()
if (missing.length > 0) {
  console.log(
    `skipped: ${missing.join(', ')} are not installed (apt install etcd-server patroni haproxy postgresql-15)`,
  )
} else {
  const startedAt = Date.now()
  const say = (line: string) =>
    console.log(`${((Date.now() - startedAt) / 1000).toFixed(0).padStart(5)} s  ${line}`)
  const { outcomes, verdict, missedMutations, summary } = await runCluster({
    kind: 'full',
    minutes,
    only,
    say,
  })
  const byName = Map.groupBy(outcomes, ({ name }) => name)
  console.log('\n| fault | times | median recovery | longest |\n| --- | --- | --- | --- |')
  for (const [name, all] of byName) {
    const seconds = all.map((one) => one.seconds).sort((a, b) => a - b)
    const [median = 0, longest = 0] = [seconds[Math.floor(seconds.length / 2)], seconds.at(-1)]
    console.log(`| ${name} | ${seconds.length} | ${median.toFixed(1)} s | ${longest.toFixed(1)} s |`)
  }
  const { lost, stale, raw, unclean } = verdict
  console.log(
    `\n${summary}\nacknowledged writes lost: ${lost}\nstale or wrong membership answers: ${stale.length}`,
  )
  console.log(`raw values to masked roles: ${raw.length}\nerrors that were not clean: ${unclean.length}`)
  for (const line of [...stale.slice(0, 5), ...raw, ...unclean]) console.log(`  ${line}`)
  console.log(
    `mutations of the history that the checker missed: ${missedMutations.length} ${missedMutations.join('; ')}`,
  )
  const late = outcomes.filter(({ seconds }) => seconds > mostSeconds)
  console.log(`faults that took longer than ${mostSeconds} s: ${late.length}`)
  process.exitCode = isGood(verdict) && missedMutations.length === 0 && late.length === 0 ? 0 : 1
}
