import { hash, verify } from '@node-rs/argon2'
import type { Query } from '../../db/query.ts'
import { fail } from '../../kernel/problem.ts'

/** argon2id with the library's parameters: 19 MiB, two passes, one lane. */
const argon2id = 2
const options = { algorithm: argon2id, memoryCost: 19_456, timeCost: 2, parallelism: 1 }

export const passwordRules = { shortest: 8, longest: 256, longEnoughForAnything: 16 } as const

const commonParts = [
  'password',
  'passw0rd',
  'p@ssw0rd',
  'qwerty',
  '12345678',
  'letmein',
  'welcome',
  'masquerade',
]

/** Refuses a password that is short, common, plain, or the person's own name. */
export function checkPassword(password: string, userPrincipalName: string): void {
  const characters = [...password]
  const { shortest, longest, longEnoughForAnything } = passwordRules
  const kinds = [/\p{Ll}/u, /\p{Lu}/u, /\p{N}/u, /[^\p{L}\p{N}]/u].filter((kind) => kind.test(password))
  const lower = password.toLowerCase()
  const name = userPrincipalName.split('@', 1)[0]?.toLowerCase() ?? ''
  const isPlain = characters.length < longEnoughForAnything && kinds.length < 3
  const isCommon =
    characters.length < longEnoughForAnything && commonParts.some((part) => lower.includes(part))
  const isMonotonous = new Set(characters).size < 5
  const isName = name.length >= 3 && lower.includes(name)
  if (
    characters.length < shortest ||
    characters.length > longest ||
    isPlain ||
    isCommon ||
    isMonotonous ||
    isName
  )
    fail('PasswordTooWeak', {}, { target: 'passwordProfile.password' })
}

/** The hash to store. Refuses a password that `checkPassword` refuses. */
export async function hashPassword(password: string, userPrincipalName: string): Promise<string> {
  checkPassword(password, userPrincipalName)
  return await hash(password, options)
}

export interface PasswordWishes {
  /** The person has to choose another at the next sign-in. */
  readonly mustChange?: boolean
  /** The password is refused from then on. */
  readonly expiresAt?: Date | null
  /** The hash that the present password was checked against: another change in between makes this one fail. */
  readonly replaces?: string
}

/**
 * Sets a user's password. Sessions and refresh tokens from before it end: they are older than the password. Its time is
 * read under the lock of the row and at least a second after the one before: sign-ins are dated in whole seconds.
 */
export async function setPassword(
  tx: Query,
  tenantId: string,
  userId: string,
  password: string,
  { mustChange = false, expiresAt = null, replaces }: PasswordWishes = {},
): Promise<void> {
  const [user] = await tx<{ user_principal_name: string | null }[]>`
    select user_principal_name from directory_object
    where tenant_id = ${tenantId} and id = ${userId} and kind = 'user' and deleted_at is null`
  if (!user) fail('ObjectNotFound', { id: userId })
  const hashed = await hashPassword(password, user.user_principal_name ?? '')
  const stored = await tx`
    insert into user_password (tenant_id, user_id, hash, must_change, expires_at, changed_at)
    values (${tenantId}, ${userId}, ${hashed}, ${mustChange}, ${expiresAt}, clock_timestamp())
    on conflict (tenant_id, user_id) do update
    set hash = excluded.hash, must_change = excluded.must_change, expires_at = excluded.expires_at,
      changed_at = greatest(clock_timestamp(), user_password.changed_at + interval '1 second')
    where ${replaces === undefined} or user_password.hash = ${replaces ?? ''}`
  if (stored.count === 0) fail('WrongPassword', {}, { target: 'currentPassword' })
}

/**
 * The time of a sign-in in whole seconds; undefined when the hash that it was checked against is not the password any more. It is
 * always after the second of that password's change, and never after that of a later one (`isOlderThanPassword`).
 */
export async function dateSignIn(
  sql: Query,
  tenantId: string,
  userId: string,
  checked: string,
): Promise<number | undefined> {
  const [row] = await sql<{ at: number }[]>`
    select greatest(floor(extract(epoch from clock_timestamp())), floor(extract(epoch from changed_at)) + 1)::bigint as at
    from user_password where tenant_id = ${tenantId} and user_id = ${userId} and hash = ${checked} for share`
  return row?.at
}

/** True for a sign-in from before the last change of the password, which ends it. */
export function isOlderThanPassword(signedInAt: number, changedAt: Date): boolean {
  return signedInAt <= Math.floor(changedAt.getTime() / 1000)
}

export async function hasPassword(sql: Query, tenantId: string, userId: string): Promise<boolean> {
  const rows = await sql`select from user_password where tenant_id = ${tenantId} and user_id = ${userId}`
  return rows.count > 0
}

let nobody: Promise<string> | undefined

/** Makes the hash that passwords of unknown users are checked against, so that the first check is not slower. */
export async function preparePasswords(): Promise<void> {
  nobody ??= hash('a password that nobody has', options)
  await nobody
}

/** Takes as long for a user who does not exist, or has no password, as for one who has. */
export async function isPassword(stored: string | undefined, password: string): Promise<boolean> {
  await preparePasswords()
  const matches = await verify(stored ?? (await nobody) ?? '', password.slice(0, passwordRules.longest * 2))
  return matches && stored !== undefined
}
