import type { Query } from '../../db/query.ts'
import { foldPrincipalName } from '../../kernel/fold-principal-name.ts'
import { isUuid } from '../../kernel/uuid.ts'
import { serviceAppId } from '../applications/api-principal.ts'
import { type SignInAttempt, type SignInGroup, signInFailures } from './sign-in-attempt.ts'

interface Known {
  readonly id: string
  readonly kind: 'user' | 'servicePrincipal'
  readonly display_name: string | null
  readonly user_principal_name: string | null
  readonly app_id: string | null
  readonly enabled: boolean
}

const maxUserAgent = 256

/** Stores attempts; those that have a row already are added to its count. */
export async function storeSignIns(
  sql: Query,
  tenantId: string,
  groups: readonly SignInGroup[],
): Promise<void> {
  const known = await findKnown(sql, tenantId, groups)
  const rows = groups.map((group) => describe(group, known))
  await sql`
    insert into sign_in as present (tenant_id, window_start, digest, created_at, last_at, attempts,
      user_principal_name, user_id, app_id, properties)
    select ${tenantId}, "windowStart", digest, "firstAt", "lastAt", count, properties ->> 'userPrincipalName',
      properties ->> 'userId', properties ->> 'appId', properties
    from jsonb_to_recordset(${sql.json(rows)}) as entry (digest text, "windowStart" timestamptz, "firstAt" timestamptz,
      "lastAt" timestamptz, count bigint, properties jsonb)
    on conflict (tenant_id, window_start, digest) do update
    set attempts = present.attempts + excluded.attempts, last_at = greatest(present.last_at, excluded.last_at)`
}

export async function deleteSignInsBefore(sql: Query, tenantId: string, days: number): Promise<void> {
  await sql`
    delete from sign_in
    where tenant_id = ${tenantId} and created_at < now() - make_interval(days => ${days}::int)`
}

/** The users and service principals that the attempts name, by the names in lower case. */
async function findKnown(
  sql: Query,
  tenantId: string,
  groups: readonly SignInGroup[],
): Promise<ReadonlyMap<string, Known>> {
  const users = namesIn(groups, ({ user }) => user)
  const apps = [...namesIn(groups, ({ application }) => application), serviceAppId]
  const rows = await sql<Known[]>`
    select id, kind, display_name, user_principal_name, app_id,
      coalesce(properties -> 'accountEnabled' <> 'false', true) as enabled
    from directory_object
    where tenant_id = ${tenantId} and deleted_at is null and (
      (kind = 'user' and id = any(${users.filter(isUuid)}::uuid[]))
      or (kind = 'user' and folded_principal_name = any(${users}::text[]))
      or (kind = 'servicePrincipal' and app_id = any(${apps}::text[])))`
  return new Map(
    rows.flatMap((row) =>
      (row.kind === 'user' ? [row.id, row.user_principal_name] : [row.app_id]).flatMap((name) =>
        name === null ? [] : [[`${row.kind} ${foldPrincipalName(name)}`, row] as const],
      ),
    ),
  )
}

function namesIn(
  groups: readonly SignInGroup[],
  pick: (attempt: SignInAttempt) => string | undefined,
): string[] {
  const names = groups.map(({ attempt }) => foldPrincipalName(pick(attempt)?.trim() ?? ''))
  // Other names are no spelling of a stored one, and PostgreSQL cannot take every text.
  return [...new Set(names.filter((name) => /^[\x21-\x7e]{1,320}$/.test(name)))] as string[]
}

function describe(group: SignInGroup, known: ReadonlyMap<string, Known>): object {
  const { attempt, digest, windowStart, firstAt, lastAt, count } = group
  const find = (kind: Known['kind'], name: string | undefined) =>
    name === undefined ? undefined : known.get(`${kind} ${foldPrincipalName(name.trim())}`)
  const user = find('user', attempt.user)
  const principal = find('servicePrincipal', attempt.application)
  const service = find('servicePrincipal', serviceAppId)
  const isUsers = attempt.by !== 'clientCredentials' && !(attempt.by === 'gateway' && !attempt.user)
  const [errorCode, failureReason] = describeFailure(attempt, user)
  return {
    digest,
    windowStart: new Date(windowStart).toISOString(),
    firstAt: new Date(firstAt).toISOString(),
    lastAt: new Date(lastAt).toISOString(),
    count,
    properties: {
      ...ways[attempt.by],
      signInEventTypes: isUsers ? ways[attempt.by].signInEventTypes : ['servicePrincipal'],
      userPrincipalName: user?.user_principal_name ?? null,
      userDisplayName: user?.display_name ?? null,
      userId: user?.id ?? null,
      appId: principal?.app_id ?? null,
      appDisplayName: principal?.display_name ?? null,
      servicePrincipalId: isUsers ? null : (principal?.id ?? null),
      servicePrincipalName: isUsers ? null : (principal?.display_name ?? null),
      ipAddress: attempt.address || null,
      userAgent: attempt.userAgent?.slice(0, maxUserAgent).toWellFormed().replaceAll('\0', '') ?? null,
      correlationId: attempt.correlationId,
      resourceDisplayName: attempt.database ?? service?.display_name ?? null,
      resourceId: attempt.database ? null : (service?.app_id ?? null),
      status: { errorCode, failureReason, additionalDetails: null },
    },
  }
}

const interactive = { isInteractive: true, signInEventTypes: ['interactiveUser'] }
const silent = { isInteractive: false, signInEventTypes: ['nonInteractiveUser'] }
const desktop = 'Mobile Apps and Desktop clients'

const ways: Readonly<
  Record<
    SignInAttempt['by'],
    {
      isInteractive: boolean
      signInEventTypes: string[]
      clientAppUsed: string
      authenticationProtocol: string
    }
  >
> = {
  page: { ...interactive, clientAppUsed: 'Browser', authenticationProtocol: 'oAuth2' },
  browserSession: { ...silent, clientAppUsed: 'Browser', authenticationProtocol: 'oAuth2' },
  deviceCode: { ...silent, clientAppUsed: desktop, authenticationProtocol: 'deviceCode' },
  code: { ...silent, clientAppUsed: desktop, authenticationProtocol: 'oAuth2' },
  onBehalfOf: { ...silent, clientAppUsed: desktop, authenticationProtocol: 'oAuth2' },
  refreshToken: { ...silent, clientAppUsed: desktop, authenticationProtocol: 'oAuth2' },
  clientCredentials: { ...silent, clientAppUsed: desktop, authenticationProtocol: 'oAuth2' },
  gateway: { ...silent, clientAppUsed: 'PostgreSQL', authenticationProtocol: 'none' },
}

/** Readers of the log learn what the client was not told: whether the account exists and is enabled. */
function describeFailure({ failure }: SignInAttempt, user: Known | undefined): readonly [number, string] {
  if (!failure) return [0, 'Other.']
  const isAboutAccount = failure === 'wrongPassword' || failure === 'refusedToken'
  if (isAboutAccount && user?.enabled === false) return signInFailures.disabledUser
  return signInFailures[failure === 'wrongPassword' && !user ? 'unknownUser' : failure]
}
