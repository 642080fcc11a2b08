import assert from 'node:assert/strict'
import { after, before, describe, type TestContext, test } from 'node:test'
import { unknownConsequences } from '../../../src/enforcement/exposures/consequences.ts'
import type { Exposure } from '../../../src/enforcement/exposures/exposure.ts'
import { exposureKinds, findExposures } from '../../../src/enforcement/exposures/find-exposures.ts'
import { reconcile } from '../../../src/enforcement/reconcile.ts'
import { clause } from '../../support/clause.ts'
import { createMaskedDatabase, policy, rule } from '../../support/masked-database.ts'
import { forEachCluster } from '../../support/postgres.ts'
import { codeExposureCases } from './code-exposure-cases.ts'
import { canary, type ExposureCase, exposureCases } from './exposure-cases.ts'
import { lentCodeCases } from './lent-code-cases.ts'
import { partitionCodeCases } from './partition-code-cases.ts'

const allCases = [...exposureCases, ...codeExposureCases, ...lentCodeCases, ...partitionCodeCases]

const common = `
  create table public.person (id int primary key, email text, note text);
  insert into public.person values (1, '${canary}', 'hello');
  grant usage on schema public to public`

const clauses: Readonly<Record<string, readonly string[]>> = {
  'ENF-102': [
    ...['Superuser', 'Replication', 'CreateRole', 'ReadsAllData', 'ServerFiles', 'QueryTexts', 'TableOwner'],
    ...['EndsSessions', 'TwinOwnerMember', 'ExemptMember', 'EverybodyExempt', 'BypassRowSecurity'],
  ],
  'ENF-112': ['RoutineOwner', 'DomainOwner'],
  'ENF-113': ['RowPolicyOracle'],
  'ENF-221': ['ReferencesCode', 'TriggerCode', 'ForeignKeyCode', 'PolicyCode'],
  'ENF-228': ['LocksTables'],
  'ENF-271': ['ExpressionOracle'],
  'ENF-229': ['WritesAllData'],
}

function clauseOf(one: ExposureCase): string {
  return one.clause ?? Object.keys(clauses).find((id) => clauses[id]?.includes(one.code)) ?? 'ENF-103'
}

forEachCluster((cluster) => {
  let target: Target
  before(async () => {
    target = await createMaskedDatabase(cluster)
  })
  after(() => target[Symbol.asyncDispose]())
  const version = Number(cluster.replace(/\D+/, '')) * 10_000
  const cases = [...allCases.entries()].filter(([, { versions }]) => {
    const { from = 0, below = Number.POSITIVE_INFINITY } = versions ?? {}
    return version >= from && version < below
  })

  const playAll = (id: string) => async (t: TestContext) => {
    const chosen = cases.filter(([, one]) => clauseOf(one) === id)
    assert.ok(chosen.length > 0 || version < 170000)
    for (const [at, one] of chosen)
      await t.test(`${one.code}: ${one.what}`, () => playOnce(target, one, (role) => `${role}${at}`))
  }

  clause(
    'ENF-102',
    'A role that sees raw values regardless of the policy is listed as an exposure: superusers…',
    playAll('ENF-102'),
  )

  clause(
    'ENF-103',
    'Objects that carry raw values past the masks are listed: SECURITY DEFINER functions, triggers, rules, columns tied by foreign keys, possible copies, also those that a masked role owns, foreign servers, publications, old views of statistics; row policies that compare a masked column with a setting; and privileges that lead to values: TRIGGER, REFERENCES, writing under unique indexes, exclusion and check constraints and foreign keys, default privileges.',
    playAll('ENF-103'),
  )

  clause(
    'ENF-112',
    'Functions and domains of masked roles that PostgreSQL applies to raw values are listed as high: functions of…',
    playAll('ENF-112'),
  )

  clause(
    'ENF-221',
    'Ways by which code of a masked role runs with the rights of a role that sees raw values are listed: REFERENCES and TRIGGER on…',
    playAll('ENF-221'),
  )

  clause(
    'ENF-413',
    'A table of a masked role counts as read by a view (ENF-221) also where a row policy of another table that the view reads is about it…',
    playAll('ENF-413'),
  )

  clause(
    'ENF-414',
    'A view of a masked role that a view, materialized view or rule of a role that sees raw values reads, at any depth, is listed…',
    playAll('ENF-414'),
  )

  clause(
    'ENF-415',
    'A SECURITY DEFINER function of a role that sees raw values, which a masked role may call or fire as a trigger, is listed …',
    playAll('ENF-415'),
  )

  clause(
    'ENF-416',
    'Objects of masked roles that such a function names are listed as high (`DefinerCode`): tables, views and functions, …',
    playAll('ENF-416'),
  )

  clause(
    'ENF-451',
    'A partition or child of a masked role below a table of a role that sees raw values, masked or not, is listed (`PartitionCode`): …',
    playAll('ENF-451'),
  )

  clause(
    'ENF-452',
    'Where a function (ENF-416) or a foreign key (ENF-221) is about a table, its partitions and children count as named too…',
    playAll('ENF-452'),
  )

  clause(
    'ENF-453',
    'A table of a masked role that a materialized view of a role that sees raw values reads, at any depth and as a partition or child too, is listed…',
    playAll('ENF-453'),
  )

  clause(
    'ENF-454',
    'A SECURITY DEFINER function of a role that sees raw values, which a masked role may call, is listed as medium (`DefinerArgument`) …',
    playAll('ENF-454'),
  )

  clause(
    'ENF-417',
    'A masked role that may refresh a masked materialized view with a unique index (PostgreSQL 17: MAINTAIN, or a member of pg_maintain) is…',
    playAll('ENF-417'),
  )

  clause(
    'ENF-418',
    'A sequence that gives a masked column its values is listed as low (`SequenceValues`) with the masked roles that…',
    playAll('ENF-418'),
  )

  clause(
    'ENF-419',
    'A masked role that was granted SET on a setting that loads libraries, or ALTER SYSTEM on one that…',
    playAll('ENF-419'),
  )

  clause(
    'ENF-456',
    'A masked role with SET or ALTER SYSTEM on `session_replication_role` or `event_triggers` is listed as medium (`ParameterGrant`)…',
    playAll('ENF-456'),
  )

  clause(
    'ENF-113',
    "A row policy that compares a masked column with a value of the reader's choice, a setting or a row of a table that…",
    playAll('ENF-113'),
  )

  clause(
    'ENF-223',
    'Functions and domains of masked roles that relations of a role that sees raw values use, masked or not, are listed as high…',
    playAll('ENF-223'),
  )

  clause(
    'ENF-336',
    'A domain of a masked role that an expression of a role that sees raw values casts to is listed as high: in a check, index, …',
    playAll('ENF-336'),
  )

  clause(
    'ENF-337',
    'Functions of masked roles that a range type names to compare its bounds or to bring them into one form are listed …',
    playAll('ENF-337'),
  )

  clause(
    'ENF-437',
    'A rule of another relation that reads or writes a masked one is listed as medium (`RewriteRule`) where the owner of the relation…',
    playAll('ENF-437'),
  )

  clause(
    'ENF-224',
    'An expression that takes a row as a whole counts as naming every column; INSTEAD OF triggers and rules of views over…',
    playAll('ENF-224'),
  )

  clause(
    'ENF-228',
    'A member of pg_maintain, which may lock every table and every catalog, is listed as medium.',
    playAll('ENF-228'),
  )

  clause(
    'ENF-229',
    'A member of pg_write_all_data, which may write and lock every table, is listed as high.',
    playAll('ENF-229'),
  )

  clause(
    'ENF-271',
    'Expressions that PostgreSQL evaluates over a masked column together with another column of the row, which a masked role may update, are listed as medium…',
    playAll('ENF-271'),
  )

  clause(
    'ENF-272',
    'Where an exposure is about writing a masked table, rights to write a table that it is part of count too, and those on a view…',
    playAll('ENF-272'),
  )
})

describe('the classes', () => {
  test('each has a case', () => {
    const covered = new Set(allCases.map(({ code }) => code))
    // A table that cannot be masked takes a binding without privileges: preflight.test.ts has it. subscribed-tables.test.ts has subscriptions. failing-rows.test.ts has more of FailingRow.
    const without = exposureKinds.map(({ code }) => code).filter((code) => !covered.has(code))
    assert.deepEqual([...new Set(without)], ['NotMasked', 'SubscriptionCode'])
  })
})

/** With roles of its own: what one case's roles may do is not the next one's. */
async function playOnce(target: Target, one: ExposureCase, nameOf: (role: string) => string): Promise<void> {
  const { sql } = target.database
  try {
    await sql.unsafe('create schema if not exists public')
    await play(target, one, nameOf)
  } finally {
    await reconcile(target.database, policy([]))
    await sql.unsafe(
      `drop schema if exists own cascade; drop schema if exists desk cascade; drop schema public cascade`,
    )
    for (const role of [...Object.keys(one.roles ?? {}), 'analyst'])
      await sql.unsafe(`drop owned by "${target.role(nameOf(role))}"`)
  }
}

type Target = Awaited<ReturnType<typeof createMaskedDatabase>>

async function play(target: Target, one: ExposureCase, nameOf: (role: string) => string): Promise<void> {
  const { database } = target
  const roleOf = (name: string) => target.role(nameOf(name))
  await target.createRole(nameOf('analyst'))
  for (const [name, options] of Object.entries(one.roles ?? {}))
    await target.createRole(nameOf(name), options)
  const [{ twins } = { twins: '' }] =
    await database.sql`select 'masquerade_twins_' || current_database() as twins`
  const place = new URL(target.url)
  const fill = (sql: string) =>
    sql
      .replaceAll('@port', place.port)
      .replaceAll('@user', place.username)
      .replaceAll('@password', decodeURIComponent(place.password))
      .replaceAll('@database', place.pathname.slice(1))
      .replaceAll('$twins', twins)
      .replaceAll(/\$([a-z]+)\b(?!\$)/g, (_, name: string) => `"${roleOf(name)}"`)
  const run = (sql: string) => database.sql.unsafe(fill(sql))
  await run(`${common}; grant select on public.person to $analyst`)
  if (one.before) await run(one.before)

  const rules = [rule('public.person.email')]
  if (one.before?.includes('public.split ')) rules.push(rule('public.split.email'))
  const exempt = (one.exempt ?? []).map((name) => (name === 'public' ? name : roleOf(name)))
  const wanted = policy(rules, exempt)
  await reconcile(database, wanted)
  const who = roleOf(one.as ?? 'analyst')
  const look = async () =>
    (await findExposures(database, wanted)).filter(
      ({ code, roles, objects }) =>
        code === one.code &&
        (roles.includes(who) || roles.length === 0) &&
        (one.code !== 'Publication' || objects.some(({ name }) => name.includes(roleOf('pub')))),
    )
  if (one.setup) {
    assert.deepEqual(await look(), [], 'nothing is open before it is opened')
    await run(one.setup)
  }

  const found = await look()
  assert.ok(found.length > 0, `${one.code} is listed`)
  if (one.severity) assert.equal(found[0]?.severity, one.severity)
  const seen = one.shows ?? new RegExp(canary)
  const attack = () => attempt(target, nameOf(one.as ?? 'analyst'), one, fill)
  if (one.leak) assert.match(await attack(), seen)

  const remedies = found.flatMap(({ remedy }) => (remedy === null ? [] : [remedy]))
  for (const exposure of found) checkConsequences(exposure)
  if (one.remediless) assert.deepEqual(remedies, [])
  else {
    for (const remedy of remedies.flatMap((text) => text.split(';\n')))
      if (!isAboutOthers(remedy, roleOf(''))) await database.sql.unsafe(remedy)
    assert.deepEqual(await look(), [], 'the remedy closes it')
    if (one.leak) assert.doesNotMatch(await attack(), seen)
    return
  }
  const suggested = found.flatMap((exposure) => (exposure.rule === null ? [] : [exposure.rule]))
  if (suggested.length === 0) return
  const more = suggested.map((s) => rule(`${s.schemaName}.${s.tableName}.${s.columnName}`))
  const closed = policy([...rules, ...more], exempt)
  await reconcile(database, closed)
  assert.deepEqual(
    (await findExposures(database, closed)).filter(({ code }) => code === one.code),
    [],
  )
  assert.doesNotMatch(await attack(), seen)
}

/** ENF-128 for every kind: its remedy is one whose consequences are known. */
function checkConsequences({ code, remedy, consequences }: Exposure): void {
  assert.equal(consequences === null, remedy === null, code)
  if (!consequences) return
  assert.notEqual(consequences.affects, unknownConsequences.affects, `${code}: ${remedy}`)
  const { isDangerous, undo, alternative } = consequences
  assert.ok(!isDangerous || alternative !== null || undo === null, `${code}: ${remedy}`)
  assert.ok(isDangerous || undo !== null, `${code}: ${remedy}`)
}

/** A remedy revokes a role of the server from all members, and other test files have members of their own. */
function isAboutOthers(remedy: string, own: string): boolean {
  const member = /^REVOKE "[^"]+" FROM "([^"]+)"/.exec(remedy)?.[1]
  return member !== undefined && !member.endsWith(own.slice(own.lastIndexOf('_')))
}

/** Returns rows or the error; undone afterwards, so that it can be tried again. */
async function attempt(
  target: Target,
  role: string,
  { leak }: ExposureCase,
  fill: (sql: string) => string,
): Promise<string> {
  const session = target.connectAs(role)
  if (typeof leak === 'function')
    return await leak(session, target.database, target.urlOf(role)).catch(
      (error: Error) => `denied: ${error.message}`,
    )
  let out = ''
  await session
    .transaction(async (tx) => {
      for (const statement of fill(leak ?? '').split(/;(?=(?:[^$]*\$\$[^$]*\$\$)*[^$]*$)/))
        out = JSON.stringify(await tx.unsafe(statement))
      throw new Error(out)
    })
    .catch((error: Error) => {
      out = error.message
    })
  return out
}
