import { quoteIdentifier, quoteLiteral } from '../../db/quote.ts'
import type { Tx } from '../../db/transaction.ts'
import type { Step } from '../plan.ts'
import { grant, type LoginChange, type LoginPlan, mark, type WantedLogin } from './diff-logins.ts'
import type { Owner, Sign } from './mark.ts'
import type { Facts } from './observe-logins.ts'
import { rewriteMark } from './replace-mark.ts'

export interface Applied {
  /** How many roles are not as they were. */
  readonly changed: number
  /** Roles that have more than they should and that cannot be corrected: logins as them are refused. */
  readonly blocked: readonly string[]
  /** Changes of roles that another session is changing at the moment. What they revoke is revoked as far as no lock is in the way. */
  readonly busy: readonly LoginChange[]
}

type Result = 'done' | 'refused' | 'busy'

/** Errors that no retry changes: privileges, dependencies, grants. */
const isRefusal = /^(0L|0A|42501|2BP01)/
/** Locks that are held, and rows that another session changed first. */
const isBusy = /^(55P03|XX000)/

/** In the transaction it is given. What fails for one role does not keep the others from being put right. */
export async function applyLogins(tx: Tx, { aside, unmoved, changes }: LoginPlan): Promise<Applied> {
  // A former holder of a name must not keep the others from losing what they lose.
  const moved = aside.length === 0 ? 'done' : await runAll(tx, aside)
  if (moved === 'busy') return { changed: Number(await runEach(tx, unmoved)), blocked: [], busy: changes }
  // Throws, with the reason.
  if (moved === 'refused') for (const { sql } of aside) await tx.unsafe(sql)
  let changed = aside.length
  const blocked: string[] = []
  const busy: LoginChange[] = []
  for (const change of changes) {
    const result = await runAll(tx, change.steps, change)
    if (result === 'done') changed++
    else {
      if (result === 'busy') busy.push(change)
      else blocked.push(change.login.name)
      if (await runEach(tx, result === 'busy' ? change.revoking : change.otherwise)) changed++
    }
  }
  return { changed, blocked, busy }
}

async function runEach(tx: Tx, steps: readonly Step[]): Promise<boolean> {
  let isChanged = false
  for (const step of steps) if ((await runAll(tx, [step])) === 'done') isChanged = true
  return isChanged
}

async function runAll(
  tx: Tx,
  steps: readonly Step[],
  marking?: Pick<LoginChange, 'login' | 'rewrite'>,
): Promise<Result> {
  try {
    await tx.savepoint(async () => {
      for (const { sql } of steps) await tx.unsafe(sql)
      if (marking?.rewrite) await rewriteMark(tx, marking.login, marking.rewrite)
    })
    return 'done'
  } catch (error) {
    const { code = '' } = error as { code?: string }
    if (isRefusal.test(code)) return 'refused'
    if (isBusy.test(code)) return 'busy'
    throw error
  }
}

/**
 * Creates the role before its mark, which carries its OID. The transaction never shows other sessions a role without a
 * mark.
 */
export async function createLogin(
  tx: Tx,
  { until, version }: Facts,
  owner: Owner,
  { role: name, memberOf }: WantedLogin,
  verifier: string,
  sign: Sign,
): Promise<void> {
  const role = quoteIdentifier(name)
  await tx.unsafe(
    `CREATE ROLE ${role} LOGIN PASSWORD ${quoteLiteral(verifier)} VALID UNTIL ${quoteLiteral(until)}`,
  )
  const [made] = await tx<{ oid: number }[]>`
    select oid::int8 as oid from pg_catalog.pg_roles where rolname = ${name}::text::name`
  if (!made) throw new Error('a role that was made is not there')
  await tx.unsafe(mark(role, { oid: made.oid, mark: owner }, { ending: false }, sign).sql)
  for (const of of memberOf) await tx.unsafe(grant(role, of, version).sql)
}

/**
 * Sets the password for some minutes only. Every role may change its own password, and could then log in without a
 * token. The gateway has it renewed when it needs it again.
 */
export async function renewPassword(tx: Tx, { until }: Facts, name: string, verifier: string): Promise<void> {
  await tx.unsafe(
    `ALTER ROLE ${quoteIdentifier(name)} PASSWORD ${quoteLiteral(verifier)} VALID UNTIL ${quoteLiteral(until)}`,
  )
}

/** One that owns something, or was given privileges by hand, is left, without rights. */
export async function dropLogin(tx: Tx, name: string): Promise<void> {
  await runAll(tx, [
    { sql: `DROP ROLE ${quoteIdentifier(name)}`, why: 'no principal logs in as it any more' },
  ])
}
