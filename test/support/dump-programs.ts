import { spawnSync } from 'node:child_process'
import { existsSync, readdirSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { describe } from 'node:test'
import { type ClusterName, majorOf } from './cluster.ts'
import { listClusters } from './postgres.ts'

/** `pg_dump`, `psql` and `pg_restore` of one installation: a script of a newer pg_dump needs the psql beside it. */
export interface DumpPrograms {
  readonly major: number
  readonly pgDump: string
  readonly psql: string
  readonly pgRestore: string
}

/** Folders in MASQUERADE_TEST_PG_DUMP, divided as in PATH, are preferred to those of the machine. */
const folders = [
  splitPath(process.env.MASQUERADE_TEST_PG_DUMP),
  [
    ...splitPath(process.env.PATH),
    ...listVersions('/usr/lib/postgresql'),
    ...listVersions('node_modules/.cache/postgres-clients'),
  ],
]
const found: DumpPrograms[][] = []

/** pg_dump reads servers up to its own version: the nearest one that reads this version. */
export function findDumpPrograms(cluster: ClusterName): DumpPrograms | undefined {
  if (found.length === 0) found.push(...folders.map((group) => group.flatMap(readPrograms)))
  const fitting = found.map((group) => group.filter(({ major }) => major >= majorOf(cluster)))
  return fitting.find((group) => group.length > 0)?.sort((a, b) => a.major - b.major)[0]
}

function readPrograms(folder: string): DumpPrograms[] {
  const [pgDump, psql, pgRestore] = ['pg_dump', 'psql', 'pg_restore'].map((name) => join(folder, name))
  if (!pgDump || !psql || !pgRestore || ![pgDump, psql, pgRestore].every((file) => existsSync(file)))
    return []
  const { stdout } = spawnSync(pgDump, ['--version'], { encoding: 'utf8' })
  const major = Number(/ (\d+)/.exec(stdout ?? '')?.[1] ?? 0)
  return [{ major, pgDump, psql, pgRestore }]
}

function listVersions(folder: string): string[] {
  return existsSync(folder) ? readdirSync(folder).map((version) => join(folder, version, 'bin')) : []
}

function splitPath(text = ''): string[] {
  return text.split(delimiter).filter((folder) => folder !== '')
}

/**
 * Defines tests of dumps for the last PostgreSQL at hand that a pg_dump of this machine reads; `npm run test:all` runs
 * them on each such one. Without one the tests are skipped, and say so.
 */
export function forDumpedClusters(define: (cluster: ClusterName, programs: DumpPrograms) => void): void {
  const names = listClusters()
  const dumped = names.flatMap((cluster) => {
    const programs = findDumpPrograms(cluster)
    return programs ? [{ cluster, programs }] : []
  })
  for (const { cluster, programs } of process.env.MASQUERADE_TEST_ALL ? dumped : dumped.slice(-1))
    describe(`on ${cluster} by pg_dump ${programs.major}`, () => define(cluster, programs))
  const skip = dumped.length === 0 && 'no pg_dump of this version or later is installed'
  if (skip) describe(`dumps of ${names.join(', ')}`, { skip }, () => {})
}

/** The errors of psql or pg_restore, without the setting of pg_dump 17 and later that older servers do not have. */
export function listRestoreErrors(errors: string): string[] {
  const lines = errors.match(/\b(?:ERROR|FATAL): .*$/gm) ?? []
  return lines.filter((line) => !/unrecognized configuration parameter "transaction_timeout"$/.test(line))
}
