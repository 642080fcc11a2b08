import { createHash } from 'node:crypto'
import type { Query } from '../db/query.ts'
import { foldPrincipalName } from '../kernel/fold-principal-name.ts'
import { nameNetwork } from '../kernel/network.ts'

/** How many failures cost nothing; each further one doubles the wait. */
const allowances = { account: 5, address: 50 } as const
const firstBlockSeconds = 10
const longestBlockSeconds = 300
/** Failures that lie back further are forgotten. */
const memoryHours = 24

type Kind = keyof typeof allowances

/** Both are counted on all nodes together. */
export interface SignInSubjects {
  readonly account?: string
  readonly address?: string
}

/**
 * Takes an attempt from each subject before the password is looked at, so that a thousand guesses sent at once are
 * a thousand attempts. Returns the seconds to wait when there is none to take.
 */
export async function takeAttempt(sql: Query, subjects: SignInSubjects): Promise<number> {
  for (const [kind, subject] of subjectsOf(subjects)) {
    const waitSeconds = await take(sql, kind, subject)
    if (waitSeconds > 0) return waitSeconds
  }
  return 0
}

async function take(sql: Query, kind: Kind, subject: string): Promise<number> {
  const allowance = allowances[kind]
  const taken = await sql`
    insert into sign_in_attempt as attempt (subject, failures, last_failure_at) values (${subject}, 1, now())
    on conflict (subject) do update set
      failures = case when attempt.last_failure_at < now() - make_interval(hours => ${memoryHours}::int)
        then 1 else attempt.failures + 1 end,
      last_failure_at = now(),
      blocked_until = case when attempt.last_failure_at >= now() - make_interval(hours => ${memoryHours}::int)
        and attempt.failures + 1 >= ${allowance}::int
        then now() + make_interval(secs => least(
          ${longestBlockSeconds}::int,
          ${firstBlockSeconds}::int * power(2, least(attempt.failures + 1 - ${allowance}::int, 20))))
        end
    where attempt.blocked_until is null or attempt.blocked_until <= now()
    returning 1`
  if (taken.length > 0) return 0
  const [row] = await sql<{ seconds: number }[]>`
    select ceil(extract(epoch from blocked_until - now()))::int as seconds from sign_in_attempt
    where subject = ${subject}`
  return Math.max(1, row?.seconds ?? 1)
}

/** The attempt was good: the account starts anew, the address gets this one back. */
export async function returnAttempt(sql: Query, subjects: SignInSubjects): Promise<void> {
  for (const [kind, subject] of subjectsOf(subjects))
    if (kind === 'account') await sql`delete from sign_in_attempt where subject = ${subject}`
    else
      await sql`
        update sign_in_attempt set failures = greatest(failures - 1, 0), blocked_until = null
        where subject = ${subject}`
}

function subjectsOf({ account, address }: SignInSubjects): [Kind, string][] {
  const subjects: [Kind, string][] = []
  if (address !== undefined) subjects.push(['address', hashSubject('address', nameNetwork(address))])
  if (account !== undefined)
    subjects.push(['account', hashSubject('account', foldPrincipalName(account.trim()))])
  return subjects
}

function hashSubject(kind: Kind, value: string): string {
  return createHash('sha256').update(`${kind}\0${value}`).digest('base64url')
}
