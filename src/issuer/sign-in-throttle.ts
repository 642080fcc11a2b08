import { createHash } from 'node:crypto'
import type { Query } from '../db/query.ts'
import { foldPrincipalName } from '../kernel/fold-principal-name.ts'
import { nameNetwork } from '../kernel/network.ts'

interface Limit {
  /** How many failures cost nothing. */
  readonly failures: number
  readonly firstWaitSeconds: number
  /** Each further failure doubles the wait, up to this. */
  readonly longestWaitSeconds: number
}

const patient = { firstWaitSeconds: 10, longestWaitSeconds: 300 }

/** The counts, and why there are several: `docs/decisions/0075-failed-sign-ins.md`. */
const limits = {
  /** One network, whichever accounts it tries. */
  address: { failures: 50, ...patient },
  /** One account from one network. */
  visitor: { failures: 5, ...patient },
  /** One account from everywhere: slowed, never locked. */
  account: { failures: 100, firstWaitSeconds: 5, longestWaitSeconds: 5 },
  /** One account in a browser that signed in to it before. */
  browser: { failures: 5, ...patient },
  /** Changes of the password by a person who is signed in. */
  change: { failures: 5, ...patient },
  /** One credential for a tool from one network. A tool that keeps an old password tries it again and again. */
  credential: { failures: 20, ...patient },
} as const satisfies Record<string, Limit>

/** Failures that lie back further are forgotten. */
const memoryHours = 24

type Kind = keyof typeof limits
type Subject = readonly [kind: Kind, name: string]

/** All are counted on all nodes together. */
export type SignInSubjects =
  | { readonly address: string; readonly account?: string; readonly browser?: string | undefined }
  /** A person and the application through which the password is changed. */
  | { readonly userId: string; readonly applicationId: string }
  | { readonly credential: string; readonly address: string }

/**
 * Takes an attempt from each subject before the password is looked at, so that a thousand guesses sent at once are
 * a thousand attempts. Returns the seconds to wait when there is none to take.
 */
export async function takeAttempt(sql: Query, subjects: SignInSubjects): Promise<number> {
  const taken: Subject[] = []
  for (const subject of subjectsOf(subjects)) {
    const waitSeconds = await take(sql, subject)
    if (waitSeconds > 0) {
      // The failures of others slow this visitor down; they must not use up the visitor's own attempts.
      if (subject[0] === 'account') for (const one of taken) await giveBack(sql, one)
      return waitSeconds
    }
    taken.push(subject)
  }
  return 0
}

/** Seconds that the subjects have to wait, without taking an attempt: for passwords too long for an attacker to guess. */
export async function findWait(sql: Query, subjects: SignInSubjects): Promise<number> {
  const [row] = await sql<{ seconds: number | null }[]>`
    select ceil(extract(epoch from max(blocked_until) - now()))::int as seconds from sign_in_attempt
    where subject = any(${subjectsOf(subjects).map(([, name]) => name)})`
  return Math.max(0, row?.seconds ?? 0)
}

async function take(sql: Query, [kind, name]: Subject): Promise<number> {
  const { failures, firstWaitSeconds, longestWaitSeconds }: Limit = limits[kind]
  const taken = await sql`
    insert into sign_in_attempt as attempt (subject, failures, last_failure_at) values (${name}, 1, now())
    on conflict (subject) do update set
      failures = case when attempt.last_failure_at < now() - make_interval(hours => ${memoryHours}::int)
        then 1 else attempt.failures + 1 end,
      last_failure_at = now(),
      blocked_until = case when attempt.last_failure_at >= now() - make_interval(hours => ${memoryHours}::int)
        and attempt.failures + 1 >= ${failures}::int
        then now() + make_interval(secs => least(
          ${longestWaitSeconds}::int,
          ${firstWaitSeconds}::int * power(2, least(attempt.failures + 1 - ${failures}::int, 20))))
        end
    where attempt.blocked_until is null or attempt.blocked_until <= now()
    returning 1`
  if (taken.length > 0) return 0
  const [row] = await sql<{ seconds: number }[]>`
    select ceil(extract(epoch from blocked_until - now()))::int as seconds from sign_in_attempt
    where subject = ${name}`
  return Math.max(1, row?.seconds ?? 1)
}

/** The attempt was good: the person starts anew, what is shared with others gets this one back. */
export async function returnAttempt(sql: Query, subjects: SignInSubjects): Promise<void> {
  for (const subject of subjectsOf(subjects)) {
    const [kind, name] = subject
    if (kind === 'address' || kind === 'account') await giveBack(sql, subject)
    else await sql`delete from sign_in_attempt where subject = ${name}`
  }
}

async function giveBack(sql: Query, [, name]: Subject): Promise<void> {
  await sql`
    update sign_in_attempt set failures = greatest(failures - 1, 0), blocked_until = null where subject = ${name}`
}

function subjectsOf(subjects: SignInSubjects): Subject[] {
  if ('userId' in subjects) return [nameSubject('change', subjects.userId, subjects.applicationId)]
  const network = nameNetwork(subjects.address)
  if ('credential' in subjects) return [nameSubject('credential', subjects.credential, network)]
  if (subjects.account === undefined) return [nameSubject('address', network)]
  const account = foldPrincipalName(subjects.account.trim())
  if (subjects.browser !== undefined) return [nameSubject('browser', account, subjects.browser)]
  return [
    nameSubject('address', network),
    nameSubject('visitor', account, network),
    nameSubject('account', account),
  ]
}

function nameSubject(kind: Kind, ...values: readonly string[]): Subject {
  return [
    kind,
    createHash('sha256')
      .update([kind, ...values].join('\0'))
      .digest('base64url'),
  ]
}
