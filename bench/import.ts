// How fast memberships are imported: a file of JSON lines through `importDirectory` (read, staged, checked, stored,
// logged) against a plain COPY of the same rows into the same table, with its keys and references. Prints memberships
// per second of both and one ratio. Run: npx node bench/import.ts [memberships]
import { randomUUID } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { connectDatabase } from '../src/db/connect.ts'
import type { Database } from '../src/db/database.ts'
import { startEmbedded } from '../src/db/embedded.ts'
import { importDirectory } from '../src/directory/transfer/import-directory.ts'

const memberships = Number(process.argv[2] ?? 300_000)
const users = Math.ceil(memberships / 10)
const groups = Math.ceil(memberships / 100)
const rounds = 3
const chunkLength = 256 * 1024

async function* chunksOf(text: string): AsyncGenerator<Uint8Array> {
  const bytes = Buffer.from(text)
  for (let at = 0; at < bytes.length; at += chunkLength) yield bytes.subarray(at, at + chunkLength)
}

const importText = (database: Database, tenantId: string, text: string) =>
  database.transaction((tx) => importDirectory(tx, { tenantId, fileName: 'bench', chunks: chunksOf(text) }))

function makeObjects(userIds: readonly string[], groupIds: readonly string[]): string {
  const lines = [
    ...userIds.map((id, at) => ({
      type: 'user',
      id,
      displayName: `User ${at}`,
      mailNickname: `u${at}`,
      userPrincipalName: `u${at}@example.com`,
      accountEnabled: true,
    })),
    ...groupIds.map((id, at) => ({
      type: 'group',
      id,
      displayName: `Group ${at}`,
      mailNickname: `g${at}`,
      mailEnabled: false,
      securityEnabled: true,
    })),
  ]
  return lines.map((line) => `${JSON.stringify(line)}\n`).join('')
}

/** Pairs without repetition, in no order that an index would like. */
function makePairs(userIds: readonly string[], groupIds: readonly string[]): [string, string][] {
  const pairs: [string, string][] = []
  for (let at = 0; at < memberships; at++) {
    const group = groupIds[at % groupIds.length] ?? ''
    const turn = Math.floor(at / groupIds.length)
    pairs.push([group, userIds[(at * 7919 + turn * 104_729) % userIds.length] ?? ''])
  }
  const seen = new Set(pairs.map(([group, user]) => group + user))
  if (seen.size < pairs.length) throw new Error('the pairs repeat: choose another number of memberships')
  return pairs
}

async function perSecond(run: () => Promise<unknown>): Promise<number> {
  const start = performance.now()
  await run()
  return memberships / ((performance.now() - start) / 1000)
}

const median = (values: readonly number[]) =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0

const directory = mkdtempSync(path.join(tmpdir(), 'masquerade-bench-'))
const server = await startEmbedded({ dataDir: directory })
const database = await connectDatabase({ url: server.address, poolSize: 2, statementTimeoutMs: 600_000 })
try {
  const [instance] = await database.sql<{ tenant_id: string }[]>`select tenant_id from instance`
  const tenantId = instance?.tenant_id ?? ''
  const userIds = Array.from({ length: users }, () => randomUUID())
  const groupIds = Array.from({ length: groups }, () => randomUUID())
  await importText(database, tenantId, makeObjects(userIds, groupIds))
  const pairs = makePairs(userIds, groupIds)
  const text = pairs
    .map(([group, member]) => `${JSON.stringify({ type: 'member', group, member })}\n`)
    .join('')
  const rows = pairs.map(([group, member]) => `${tenantId}\t${group}\t${member}\n`).join('')
  const results: Record<'copy' | 'import', number[]> = { copy: [], import: [] }
  for (let round = 0; round < rounds; round++) {
    for (const way of ['copy', 'import'] as const) {
      await database.sql`truncate member_edge, change_log`
      await database.sql`checkpoint`
      const speed = await perSecond(() =>
        way === 'import'
          ? importText(database, tenantId, text)
          : database.transaction((tx) =>
              tx.copy('copy member_edge (tenant_id, container_id, member_id) from stdin', [rows]),
            ),
      )
      results[way].push(speed)
    }
  }
  const [copied, imported] = [median(results.copy), median(results.import)]
  console.log(`${memberships} memberships, ${users} users, ${groups} groups, median of ${rounds} rounds`)
  console.log(`COPY    ${Math.round(copied)} memberships/s`)
  console.log(`import  ${Math.round(imported)} memberships/s`)
  console.log(`ratio   ${(imported / copied).toFixed(2)}`)
} finally {
  await database.close()
  await server.stop()
  rmSync(directory, { recursive: true, force: true })
}
