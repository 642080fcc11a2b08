import { randomBytes } from 'node:crypto'
import { type Database, openDatabase } from '../../src/db/database.ts'
import type { Row } from '../../src/db/sql.ts'
import { sqlstate } from '../../src/kernel/sqlstate.ts'
import type { Mask, MaskingFunction, Policy, Rule } from '../../src/masks/policy.ts'
import { type TurnResult, takeTurn } from '../../src/masks/turn.ts'
import type { ClusterName } from './cluster.ts'
import { createEmptyDatabase } from './postgres.ts'

/** A database with roles of its own to put masks on. Roles are shared by a cluster, so their names carry a suffix. */
export async function createMaskedDatabase(cluster?: ClusterName) {
  const target = await createEmptyDatabase(cluster)
  const suffix = randomBytes(4).toString('hex')
  const role = (name: string) => `${name}_${suffix}`
  const database = openDatabase({ url: target.url, searchPath: 'public', statementTimeoutMs: 60_000 })
  const opened: Database[] = [database]
  const made = new Set<string>()
  const urlOf = (name: string): string => {
    const url = new URL(target.url)
    url.username = encodeURIComponent(role(name))
    url.password = 'secret'
    return url.href
  }
  return {
    database,
    url: target.url,
    urlOf,
    role,
    async createRole(name: string, options = 'LOGIN'): Promise<string> {
      await database.sql.unsafe(`create role "${role(name)}" ${options} password 'secret'`)
      made.add(role(name))
      return role(name)
    },
    /** A connection as that role. */
    connectAs(name: string): Database {
      const session = openDatabase({ url: urlOf(name), poolSize: 2, searchPath: 'public' })
      opened.push(session)
      return session
    },
    /** One statement in a session of its own, which ends with it: a server has only so many connections. */
    async runAs(name: string, text: string): Promise<Row[]> {
      const session = openDatabase({ url: urlOf(name), poolSize: 1, searchPath: 'public' })
      try {
        return await session.sql.unsafe(text)
      } finally {
        await session.close()
      }
    },
    async [Symbol.asyncDispose]() {
      for (const database of opened) await database.close()
      const cleanup = openDatabase({ url: target.url.replace(/[^/]*$/, 'postgres'), poolSize: 1 })
      const name = target.url.replace(/^.*\//, '')
      const [own] = await cleanup.sql`select oid::int8 as oid from pg_database where datname = ${name}`
      await target[Symbol.asyncDispose]()
      for (const each of made) await cleanup.sql.unsafe(`drop role if exists "${each}"`).catch(() => {})
      const twins = await cleanup.sql<{ role: string }[]>`
        select rolname::text as role from pg_roles where rolname ~ ${`^masquerade_twins_((.*_)?${name}|${own?.oid ?? name}_[0-9]+)$`}`
      for (const { role } of twins) await cleanup.sql.unsafe(`drop role if exists "${role}"`).catch(() => {})
      await cleanup.close()
    },
  }
}

/** Turns until none is cut short: each makes as many twins as it can within seconds, and the service takes the next one. */
export async function takeTurns(...given: Parameters<typeof takeTurn>): Promise<TurnResult> {
  const result = await takeTurn(...given)
  if (!result.unfinished.some((one) => one.sqlstate === sqlstate.programLimitExceeded)) return result
  const next = await takeTurns(...given)
  return { ...next, steps: [...result.steps, ...next.steps] }
}

const nothing: Omit<Mask, 'maskingFunction'> = {
  numberFrom: null,
  numberTo: null,
  prefixSize: null,
  suffixSize: null,
  replacementString: null,
}

export function rule(
  target: string,
  maskingFunction: MaskingFunction = 'Default',
  extra: Partial<Mask> = {},
): Rule {
  const [schema = '', table = '', column = ''] = target.split('.')
  return { name: target, schema, table, column, maskingFunction, ...nothing, ...extra }
}

export function policy(rules: readonly Rule[], exemptRoles: readonly string[] = []): Policy {
  return { rules, exemptRoles, suspended: [] }
}

/** The binding to this address, as a body of the API has it. */
export function bindingOf(address: string, credentials: { user?: string; password?: string } = {}) {
  const { hostname, port, username, password, pathname } = new URL(address)
  return {
    host: hostname,
    port: Number(port),
    database: pathname.slice(1),
    user: credentials.user ?? username,
    password: credentials.password ?? decodeURIComponent(password),
  }
}
