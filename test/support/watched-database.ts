import assert from 'node:assert/strict'
import { after, before } from 'node:test'
import pg from 'pg'
import type { ColumnPlace } from '../../src/contracts/inspection.ts'
import { takeTurn } from '../../src/masks/turn.ts'
import type { ClusterName } from './cluster.ts'
import { createMaskedDatabase, policy, rule } from './masked-database.ts'
import { openWatchedGateway } from './watched-gateway.ts'

type WatchedGateway = Pick<Awaited<ReturnType<typeof openWatchedGateway>>, 'configOf' | 'watch'>

/** The masked column of these tests, and the raw value in it. */
export const email = 'public.people.email'
export const value = 'ann@example.com'

/** A statement of the session, or an action beside it. */
export type Step = string | pg.QueryConfig | (() => Promise<unknown>)

/** What a session of the role is shown by its last statement, rows or an error, and what the audit then has. */
export async function watchSteps(gateway: WatchedGateway, name: string, steps: readonly Step[]) {
  let shown = ''
  const touches = await gateway.watch(async () => {
    const client = new pg.Client(gateway.configOf(name))
    await client.connect()
    for (const step of steps)
      if (typeof step === 'function') await step()
      else
        shown = await client.query(step).then(
          (answer) => JSON.stringify([answer].flat().map(({ rows }) => rows)),
          (error: pg.DatabaseError) => `${error.code} ${error.message} ${error.detail}`,
        )
    await client.end()
  })
  const columns = (how: 'raw' | 'masked' | 'written' | 'denied') => [
    ...new Set(touches.flatMap((each) => each[how])),
  ]
  return {
    shown,
    raw: columns('raw'),
    masked: columns('masked'),
    written: columns('written'),
    denied: columns('denied'),
    isUnparsed: touches.some((each) => each.isUnparsed),
  }
}

/** A database with these roles and a watched gateway before it. `setUp` makes its tables and masks them, unless they are `observed`. */
export function useWatchedDatabase(
  cluster: ClusterName,
  roles: readonly string[],
  setUp: (all: string) => Promise<void>,
  observed?: readonly ColumnPlace[],
) {
  let target: Awaited<ReturnType<typeof createMaskedDatabase>>
  let gateway: Awaited<ReturnType<typeof openWatchedGateway>>
  const role = (name: string) => `"${target.role(name)}"`

  before(async () => {
    target = await createMaskedDatabase(cluster)
    for (const name of roles) await target.createRole(name)
    await setUp(roles.map(role).join(', '))
    gateway = await openWatchedGateway(target, observed)
  })
  after(async () => {
    await gateway.close()
    await target[Symbol.asyncDispose]()
  })

  const watch = (name: string, ...steps: Step[]) => watchSteps(gateway, name, steps)
  return {
    target: () => target,
    gateway: () => gateway,
    role,
    run: (text: string) => target.database.sql.unsafe(text),
    /** Masks these columns for all roles but the exempt ones. */
    async mask(columns: readonly string[], exempt: readonly string[]): Promise<void> {
      const rules = columns.map((column) => rule(column, 'Email'))
      await takeTurn(target.database, policy(rules, exempt.map(target.role)))
    },
    watch,
    /** The last statement shows the raw value, and the audit has it. */
    async isRaw(name: string, ...steps: Step[]): Promise<void> {
      const { shown, raw } = await watch(name, ...steps)
      const what = `${name} ${JSON.stringify(steps)}`
      assert.match(shown, new RegExp(value), what)
      assert.deepEqual(raw, [email], what)
    },
  }
}
