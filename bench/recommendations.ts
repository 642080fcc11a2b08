// Precision and recall of recommendations on labelled schemas, against a list of names as one would write it by hand.
// Run: npm run bench bench/recommendations.ts
import { recommend } from '../src/findings/recommendations/recommend.ts'
import { startClusters } from '../test/support/cluster.ts'
import { createLabelled, labelledColumns, type Score, score } from '../test/support/labelled/columns.ts'

const started = await startClusters(['embedded-18'])
process.env.MASQUERADE_TEST_CLUSTERS = JSON.stringify(started.clusters)
const { createMaskedDatabase } = await import('../test/support/masked-database.ts')

const naive =
  /e?mail|phone|mobile|fax|ssn|national_?id|card|iban|account|address|street|zip|postal|name|birth|dob|salary|wage|passport|tax|password|secret|token|ip_|note|comment|body|message/i

async function judge(isFilled: boolean) {
  await using target = await createMaskedDatabase()
  await createLabelled(target.database.sql, isFilled)
  const from = performance.now()
  const found = await recommend(target.database, [])
  return { found, ms: performance.now() - from }
}

function print(title: string, { precision, recall, falseAlarms, misses }: Score): void {
  console.log(`${title}: precision ${precision.toFixed(3)}, recall ${recall.toFixed(3)}`)
  if (!process.argv.includes('--list')) return
  console.log(`  false alarms: ${falseAlarms.join(', ')}`)
  console.log(`  misses: ${misses.join(', ')}`)
}

const places = (found: readonly { table: string; column: string }[]) =>
  new Set(found.map(({ table, column }) => `${table}.${column}`))

const sensitive = labelledColumns.filter(({ kind }) => kind !== null)
console.log(`${labelledColumns.length} columns, ${sensitive.length} of them sensitive`)
const byList = score(places(labelledColumns.filter(({ column }) => naive.test(column))))
const byNames = score(places((await judge(false)).found))
const { found, ms } = await judge(true)
const byBoth = score(places(found))
print('list of names', byList)
print('recommendations, empty tables', byNames)
print('recommendations, 40 rows each', byBoth)
const later = labelledColumns.filter(({ isLater }) => isLater)
print(`  of these the ${later.length} later columns`, score(places(found), later))
const kinds = new Map(found.map(({ table, column, kind }) => [`${table}.${column}`, kind]))
const right = sensitive.filter(({ table, column, kind }) => kinds.get(`${table}.${column}`) === kind)
console.log(`kind as labelled: ${(right.length / sensitive.length).toFixed(3)}; ${ms.toFixed(0)} ms`)
console.log(`precision to that of the list: ${(byBoth.precision / byList.precision).toFixed(2)}`)
console.log(`recall to that of the list: ${(byBoth.recall / byList.recall).toFixed(2)}`)
await started.stop()
