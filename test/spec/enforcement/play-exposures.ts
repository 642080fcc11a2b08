import assert from 'node:assert/strict'
import { after, before, type TestContext } from 'node:test'
import type { Exposure } from '../../../src/contracts/inspection.ts'
import { findExposures } from '../../../src/findings/exposures/find-exposures.ts'
import { takeTurn } from '../../../src/masks/turn.ts'
import type { ClusterName } from '../../support/cluster.ts'
import { createMaskedDatabase, policy, rule } from '../../support/masked-database.ts'
import { definerCases } from './definer-cases.ts'
import { canary, type ExposureCase, exposureCases } from './exposure-cases.ts'
import { pathCodeCases } from './path-code-cases.ts'

export const allCases = [...exposureCases, ...definerCases, ...pathCodeCases]

const common = `
  create table public.person (id int primary key, email text, note text);
  insert into public.person values (1, '${canary}', 'hello');
  grant usage on schema public to public`

const clauses: Readonly<Record<string, readonly string[]>> = { 'ENF-113': ['RowPolicyOracle'] }

function clauseOf(one: ExposureCase): string {
  return one.clause ?? Object.keys(clauses).find((id) => clauses[id]?.includes(one.code)) ?? 'ENF-103'
}

/** Returns the test of a clause: it plays every case of it on a database of the cluster. */
export function usePlays(cluster: ClusterName): (id: string) => (t: TestContext) => Promise<void> {
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
  return (id) => async (t) => {
    const chosen = cases.filter(([, one]) => clauseOf(one) === id)
    assert.ok(chosen.length > 0 || version < 170000)
    for (const [at, one] of chosen)
      await t.test(`${one.code}: ${one.what}`, () => playOnce(target, one, (role) => `${role}${at}`))
  }
}

/** With roles of its own: what one case's roles may do is not the next one's. */
async function playOnce(target: Target, one: ExposureCase, nameOf: (role: string) => string): Promise<void> {
  const { sql } = target.database
  try {
    await sql.unsafe('create schema if not exists public')
    await play(target, one, nameOf)
  } finally {
    await takeTurn(target.database, policy([]))
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
    await database.sql`select pg_catalog.concat_ws('_', 'masquerade_twins', d.oid, u.oid) as twins
      from pg_database d, pg_roles u where d.datname = current_database() and u.rolname = current_user`
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
  await takeTurn(database, wanted)
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
    for (const remedy of remedies) await database.sql.unsafe(remedy)
    assert.deepEqual(await look(), [], 'the remedy closes it')
    if (one.leak) assert.doesNotMatch(await attack(), seen)
    return
  }
  const suggested = found.flatMap((exposure) => (exposure.rule === null ? [] : [exposure.rule]))
  if (suggested.length === 0) return
  const more = suggested.map((s) => rule(`${s.schemaName}.${s.tableName}.${s.columnName}`))
  const closed = policy([...rules, ...more], exempt)
  await takeTurn(database, closed)
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
  const { isDangerous, undo, alternative } = consequences
  assert.ok(!isDangerous || alternative !== null || undo === null, `${code}: ${remedy}`)
  assert.ok(isDangerous || undo !== null, `${code}: ${remedy}`)
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
