import { type Adapter, type AdapterPayload, errors } from 'oidc-provider'
import type { Fragment, Query } from '../db/query.ts'
import type { RequireRoom } from '../db/store-health.ts'
import type { SecretBox } from '../kernel/secret-box.ts'
import type { IssuerSecret } from './issuer-secret.ts'

/** Models whose rows end with their grant. An interaction names a grant too, and goes on without it. */
const grantable = ['AccessToken', 'AuthorizationCode', 'DeviceCode', 'RefreshToken']

/**
 * A client whose requests run in parallel sends the same refresh token with each of them. For so long after its first
 * use it gets further successors; a later use is a replay and ends the grant with all its tokens.
 */
export const refreshGraceSeconds = 30

interface StateStore {
  readonly sql: Query
  readonly box: SecretBox
  readonly secret: IssuerSecret
  readonly requireRoom: RequireRoom
}

interface Row {
  readonly id: string
  readonly payload: { readonly sealed: string }
  readonly consumed: number | null
}

/**
 * Keeps sessions, codes, grants and refresh tokens in a table that all nodes share. The table reveals no code or token:
 * rows are found by a keyed hash of the value, and their contents are sealed.
 */
export function createStateAdapter(model: string, { sql, box, secret, requireRoom }: StateStore): Adapter {
  const place = (name: string) => `oidc_state/${model}/${name}`
  const nameOrNull = (value: unknown) => (typeof value === 'string' ? secret.nameOf(value) : null)

  const open = (row: Row | undefined): AdapterPayload | undefined => {
    if (!row) return undefined
    const payload = JSON.parse(box.open(place(row.id), Buffer.from(row.payload.sealed, 'base64')))
    return row.consumed === null ? payload : { ...payload, consumed: row.consumed }
  }

  const graceSeconds = model === 'RefreshToken' ? refreshGraceSeconds : 0
  const columns = sql`
    id, payload, case when consumed_at <= now() - make_interval(secs => ${graceSeconds}::int)
      then extract(epoch from consumed_at)::int end as consumed`

  const revokeByGrantId = async (grantId: string) => {
    await sql`delete from oidc_state where grant_id = ${secret.nameOf(grantId)}`
    await sql`delete from oidc_state where model = 'Grant' and id = ${secret.nameOf(grantId)}`
  }

  return {
    async upsert(id, payload, expiresIn) {
      if (isOfStranger(model, payload)) requireRoom('strangers')
      const name = secret.nameOf(id)
      const sealed = box.seal(place(name), JSON.stringify(payload)).toString('base64')
      const stored = await sql`
        insert into oidc_state (model, id, payload, grant_id, user_code, uid, expires_at)
        values (
          ${model}, ${name}, ${sql.json({ sealed })}, ${grantable.includes(model) ? nameOrNull(payload.grantId) : null},
          ${nameOrNull(payload.userCode)}, ${nameOrNull(payload.uid)},
          now() + make_interval(secs => ${expiresIn ?? null}::double precision)
        )
        on conflict (model, id) do update set
          payload = excluded.payload, grant_id = excluded.grant_id, user_code = excluded.user_code,
          uid = excluded.uid, expires_at = excluded.expires_at
        where case ${model} when 'ReplayDetection' then oidc_state.expires_at <= now()
          when 'Session' then oidc_state.consumed_at is null else true end`
      // Of two requests with one assertion, on any node, one is first. A session that ended meanwhile stays ended.
      if (stored.count === 0 && model === 'ReplayDetection')
        throw new errors.InvalidClientAuth('client assertion tokens must only be used once')
    },

    async find(id) {
      const [row] = await sql<Row[]>`
        select ${columns} from oidc_state
        where model = ${model} and id = ${secret.nameOf(id)} and (expires_at is null or expires_at > now())
          and (model <> 'Session' or consumed_at is null)`
      return open(row)
    },

    async findByUid(uid) {
      const [row] = await sql<Row[]>`
        select ${columns} from oidc_state
        where model = ${model} and uid = ${secret.nameOf(uid)} and (expires_at is null or expires_at > now())`
      return open(row)
    },

    async findByUserCode(userCode) {
      const [row] = await sql<Row[]>`
        select ${columns} from oidc_state
        where model = ${model} and user_code = ${secret.nameOf(userCode)}
          and (expires_at is null or expires_at > now())`
      return open(row)
    },

    /** Of two nodes that redeem the same code at once, one wins; the other has found a replay and ends the grant. */
    async consume(id) {
      const name = secret.nameOf(id)
      const consumed = await sql`
        update oidc_state set consumed_at = now()
        where model = ${model} and id = ${name} and consumed_at is null returning 1`
      if (consumed.length > 0) return
      const [row] = await sql<
        Row[]
      >`select ${columns} from oidc_state where model = ${model} and id = ${name}`
      // `find` reports a refresh token past its grace as consumed; this one was used in parallel.
      if (row && graceSeconds > 0) return
      const grantId = open(row)?.grantId
      if (grantId) await revokeByGrantId(grantId)
      throw new errors.InvalidGrant('already used')
    },

    /**
     * The library saves a session at the end of every request, also one that began before the sign-out: the row stays
     * until it expires, so that such a request does not store the session anew.
     */
    async destroy(id) {
      const name = secret.nameOf(id)
      const sealed = box.seal(place(name), '{}').toString('base64')
      if (model === 'Session')
        await sql`
          update oidc_state set consumed_at = now(), payload = ${sql.json({ sealed })}, uid = null
          where model = ${model} and id = ${name} and consumed_at is null`
      else await sql`delete from oidc_state where model = ${model} and id = ${name}`
    },

    revokeByGrantId,
  }
}

/** True for state that anyone can have the service store: no person has signed in for it yet. */
function isOfStranger(model: string, { accountId, session, result }: AdapterPayload): boolean {
  if (model === 'Interaction') return session?.accountId === undefined && result === undefined
  return (model === 'Session' || model === 'DeviceCode') && accountId === undefined
}

const manyRows = 1_000

/** Deletes expired rows and old records of failed sign-ins. */
export async function purgeState(sql: Query): Promise<void> {
  const { count } = await sql`delete from oidc_state where expires_at < now() - interval '1 minute'`
  // After a flood: gives its room back to the disk, by which new sign-ins are admitted.
  if (count >= manyRows) await sql`vacuum oidc_state`
  await sql`delete from sign_in_attempt where last_failure_at < now() - interval '1 day'`
}

/** A condition for a larger statement: true when the sign-in has ended. */
export function hasSignInEnded(sql: Query, signInId: string): Fragment {
  return sql`not exists (select from oidc_state
    where model = 'Grant' and id = ${signInId} and (expires_at is null or expires_at > now()))`
}

/**
 * Those of the sign-ins that go on. A token names its grant in `sid`; the grant goes when it is revoked, replayed or signed
 * out of.
 */
export async function findOpenSignIns(sql: Query, signInIds: readonly string[]): Promise<Set<string>> {
  const rows = await sql<{ id: string }[]>`
    select id from oidc_state
    where model = 'Grant' and id = any(${signInIds}) and (expires_at is null or expires_at > now())`
  return new Set(rows.map(({ id }) => id))
}
