import { createHash } from 'node:crypto'
import type { Query } from '../db/query.ts'
import { BoundedCache } from '../kernel/cache.ts'
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
  /** One name at the gateway from one network. A tool that keeps an old password tries it again and again. */
  login: { failures: 20, ...patient },
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
  /** A login at the gateway. `isKnown`: the name has logged in from there before, and what others do is no matter. */
  | { readonly login: string; readonly address: string; readonly isKnown: boolean }

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
      if (subject[0] === 'account' || 'login' in subjects) for (const one of taken) await giveBack(sql, one)
      return waitSeconds
    }
    taken.push(subject)
  }
  return 0
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
  if ('login' in subjects) {
    const own = nameSubject('login', subjects.login.toLowerCase(), network)
    return subjects.isKnown ? [own] : [own, nameSubject('address', network)]
  }
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

/** What is known of a login before its password is looked at. */
interface Admission {
  readonly waitSeconds: number
  /** An attempt was taken, and is given back unless the password is wrong. */
  readonly isTaken: boolean
  readonly isKnown: boolean
}

/** Names and networks that a node remembers to have seen logging in. */
const mostKnown = 10_000

/**
 * Throttles logins at the gateway. Pools log in often: an attempt is taken before the password is looked at only where there
 * were failures. Without any, the gateway's cap on logins under way bounds what is guessed before the first one is counted.
 */
export function createLoginThrottle(sql: Query) {
  const known = new BoundedCache<true>(mostKnown)
  const keyOf = (name: string, from: string) => `${nameNetwork(from)} ${name.toLowerCase()}`
  return {
    async admitLogin(name: string, from: string): Promise<Admission> {
      const isKnown = known.get(keyOf(name, from)) === true
      const subjects = { login: name, address: from, isKnown }
      const [row] = await sql<{ waitSeconds: number | null; hasFailed: boolean | null }[]>`
        select ceil(extract(epoch from max(blocked_until) - now()))::int as "waitSeconds",
          bool_or(failures > 0 and last_failure_at >= now() - make_interval(hours => ${memoryHours}::int)) as "hasFailed"
        from sign_in_attempt where subject = any(${subjectsOf(subjects).map(([, subject]) => subject)})`
      const blockedSeconds = Math.max(0, row?.waitSeconds ?? 0)
      if (blockedSeconds > 0 || !row?.hasFailed)
        return { waitSeconds: blockedSeconds, isTaken: false, isKnown }
      const waitSeconds = await takeAttempt(sql, subjects)
      return { waitSeconds, isTaken: waitSeconds === 0, isKnown }
    },

    /** `untold`: the login ended before the password was looked at, or for another reason. */
    async endLogin(
      name: string,
      from: string,
      { isTaken, isKnown }: Admission,
      proof: 'right' | 'wrong' | 'untold',
    ) {
      const subjects = { login: name, address: from, isKnown }
      if (proof === 'right') known.set(keyOf(name, from), true, Date.now() + memoryHours * 3_600_000)
      if (proof === 'wrong' && !isTaken) await takeAttempt(sql, subjects)
      if (proof === 'right' && isTaken) await returnAttempt(sql, subjects)
      if (proof === 'untold' && isTaken)
        for (const subject of subjectsOf(subjects)) await giveBack(sql, subject)
    },
  }
}
