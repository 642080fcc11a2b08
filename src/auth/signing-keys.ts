import { createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject } from 'node:crypto'
import { calculateJwkThumbprint, type JWK, type JWTPayload, SignJWT } from 'jose'
import type { Logger } from 'pino'
import { lockUntilCommit } from '../db/advisory-locks.ts'
import type { Database, Tx } from '../db/database.ts'
import type { Query } from '../db/query.ts'
import type { SealedColumn } from '../db/reseal.ts'
import { OperatorError } from '../kernel/operator-error.ts'
import { type SecretBox, SecretBoxError } from '../kernel/secret-box.ts'
import { sealedElsewhere } from './secret-ring.ts'

type PublicJwk = Readonly<Record<'kty' | 'crv' | 'x' | 'y' | 'kid' | 'alg' | 'use', string>>

export interface SigningKey {
  readonly kid: string
  readonly publicJwk: PublicJwk
  readonly publicKey: KeyObject
  readonly privateKey: KeyObject
  readonly activeFrom: Date
  /** Null for the newest key. */
  readonly expiresAt: Date | null
}

/** The keys of our own tokens, the same on every node. */
export interface SigningKeys {
  /** The key that signs now. */
  current(): SigningKey
  /** The public keys for verifiers: the current one, the next one, and those whose tokens may still be valid. */
  jwks(): { readonly keys: readonly PublicJwk[] }
  find(kid: string): SigningKey | undefined
  /** A compact JWT in the header's `typ`, by default that of an access token. */
  sign(claims: JWTPayload, typ?: string): Promise<string>
  list(): readonly SigningKey[]
  /** Reads what other nodes did; at most every few seconds, however often it is asked. */
  refresh(): Promise<void>
  /** Makes the next key. It signs after `publishAheadSeconds`, so that every verifier has it by then; 0: at once. */
  rotate(publishAheadSeconds?: number): Promise<SigningKey>
  close(): void
}

export const accessTokenType = 'at+jwt'
/** No token of ours lives longer, so a key that no longer signs is needed for that long. */
export const maxTokenLifetimeSeconds = 24 * 60 * 60
export const signingAlgorithm = 'ES256'

const scheduledAheadSeconds = 24 * 60 * 60
const operatorAheadSeconds = 10 * 60
const clockLeewaySeconds = 300
const maintenanceMs = 60_000
const refreshPauseMs = 5_000
const keptAfterExpiry = '7 days'
export interface SigningKeysOptions {
  readonly database: Database
  readonly secretBox: SecretBox
  readonly rotationDays: number
  readonly log: Logger
}

interface Row {
  readonly kid: string
  readonly private_key: Uint8Array
  readonly active_from: Date
  readonly expires_at: Date | null
}

export async function openSigningKeys(options: SigningKeysOptions): Promise<SigningKeys> {
  const { database, secretBox, rotationDays, log } = options
  let keys: ReadonlyMap<string, SigningKey> = new Map()
  let readAt = 0
  let reading: Promise<void> | undefined

  const read = async (): Promise<void> => {
    const rows = await database.sql<Row[]>`
      select kid, private_key, active_from, expires_at from signing_key
      where expires_at is null or expires_at > now() order by active_from`
    keys = new Map(rows.map((row) => [row.kid, openKey(row, secretBox, keys.get(row.kid))]))
    readAt = Date.now()
  }
  const change = async <T>(run: (tx: Tx) => Promise<T>): Promise<T> => {
    const result = await database.transaction(async (tx) => {
      await lockUntilCommit(tx, 'signingKeys')
      return run(tx)
    })
    await read()
    return result
  }
  const rotateWhenDue = () =>
    change(async (tx) => {
      await tx`delete from signing_key where expires_at < now() - ${keptAfterExpiry}::interval`
      const [newest] = await tx<{ due: boolean }[]>`
        select active_from < now() + ${`${scheduledAheadSeconds} seconds`}::interval
          - ${`${rotationDays} days`}::interval as due
        from signing_key where expires_at is null`
      if (!newest) await insertKey(tx, secretBox, 0)
      else if (newest.due) await insertKey(tx, secretBox, scheduledAheadSeconds)
    })

  await read()
  if (keys.size === 0) await rotateWhenDue()
  const maintenance = setInterval(() => {
    rotateWhenDue().catch((err: unknown) => log.warn({ err }, 'the signing keys could not be looked after'))
  }, maintenanceMs)
  maintenance.unref()

  const current = () => chooseCurrent([...keys.values()])
  return {
    current,
    jwks: () => ({ keys: [...keys.values()].map(({ publicJwk }) => publicJwk) }),
    list: () => [...keys.values()],
    find(kid) {
      const key = keys.get(kid)
      return key?.expiresAt && key.expiresAt.getTime() < Date.now() ? undefined : key
    },
    sign(claims, typ = accessTokenType) {
      const { kid, privateKey } = current()
      return new SignJWT(claims).setProtectedHeader({ alg: signingAlgorithm, typ, kid }).sign(privateKey)
    },
    async refresh() {
      if (Date.now() - readAt < refreshPauseMs) return
      reading ??= read().finally(() => {
        reading = undefined
      })
      await reading
    },
    async rotate(publishAheadSeconds = operatorAheadSeconds) {
      const kid = await change(async (tx) => {
        const [pending] = await tx<{ kid: string }[]>`
          select kid from signing_key where active_from > now() and expires_at is null`
        return pending
          ? hasten(tx, pending.kid, publishAheadSeconds)
          : insertKey(tx, secretBox, publishAheadSeconds)
      })
      const key = keys.get(kid)
      if (!key) throw new Error('the new signing key is not among those read')
      return key
    },
    close: () => clearInterval(maintenance),
  }
}

function chooseCurrent(keys: readonly SigningKey[]): SigningKey {
  const now = Date.now()
  // A node whose clock is behind the database's may see nothing but the future: the oldest is right then.
  const key = keys.findLast(({ activeFrom }) => activeFrom.getTime() <= now) ?? keys[0]
  if (!key) throw new Error('there is no signing key')
  return key
}

async function insertKey(tx: Tx, secretBox: SecretBox, aheadSeconds: number): Promise<string> {
  const pair = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const kid = await calculateJwkThumbprint(pair.publicKey.export({ format: 'jwk' }) as JWK)
  const pem = pair.privateKey.export({ format: 'pem', type: 'pkcs8' }).toString()
  const ahead = `${aheadSeconds} seconds`
  await tx`
    update signing_key set expires_at = now() + ${ahead}::interval
      + ${`${maxTokenLifetimeSeconds + clockLeewaySeconds} seconds`}::interval
    where expires_at is null`
  await tx`
    insert into signing_key (kid, algorithm, public_jwk, private_key, active_from)
    values (${kid}, ${signingAlgorithm}, ${tx.json({ ...describeKey(pair.publicKey, kid) })}, ${secretBox.seal(placeOf(kid), pem)},
      now() + ${ahead}::interval)`
  return kid
}

/** There is a next key already: it may only come sooner. */
async function hasten(tx: Tx, kid: string, aheadSeconds: number): Promise<string> {
  await tx`
    update signing_key set active_from = least(active_from, now() + ${`${aheadSeconds} seconds`}::interval)
    where kid = ${kid}`
  return kid
}

function describeKey(publicKey: KeyObject, kid: string): PublicJwk {
  const { kty, crv, x, y } = publicKey.export({ format: 'jwk' })
  return { kty: kty ?? '', crv: crv ?? '', x: x ?? '', y: y ?? '', kid, alg: signingAlgorithm, use: 'sig' }
}

const placeOf = (kid: string) => `signing_key ${kid}`

export const sealedSigningKeys: SealedColumn = {
  table: 'signing_key',
  key: ['kid'],
  column: 'private_key',
  place: ([kid = '']) => placeOf(kid),
}

function openKey(row: Row, secretBox: SecretBox, known: SigningKey | undefined): SigningKey {
  const times = { activeFrom: row.active_from, expiresAt: row.expires_at }
  if (known) return { ...known, ...times }
  try {
    const privateKey = createPrivateKey(secretBox.open(placeOf(row.kid), row.private_key))
    // Not the stored public part: who can write to the database but has no secret key cannot bring a key of theirs.
    const publicKey = createPublicKey(privateKey)
    return { kid: row.kid, publicJwk: describeKey(publicKey, row.kid), publicKey, privateKey, ...times }
  } catch (cause) {
    if (!(cause instanceof SecretBoxError)) throw cause
    throw new OperatorError(sealedElsewhere, { cause })
  }
}

/** Deletes the keys that this secret key does not open, and returns how many there were. */
export async function discardSealedKeys(sql: Query, secretBox: SecretBox): Promise<number> {
  const rows = await sql<Row[]>`select kid, private_key, active_from, expires_at from signing_key`
  const sealed = rows.filter(({ kid, private_key }) => !opens(secretBox, placeOf(kid), private_key))
  await sql`delete from signing_key where kid = any(${sealed.map(({ kid }) => kid)})`
  return sealed.length
}

/** How many valid keys there are, and how many of them this secret key does not open. Changes nothing. */
export async function countSigningKeys(
  sql: Query,
  secretBox: SecretBox,
): Promise<{ valid: number; sealed: number }> {
  const rows = await sql<Row[]>`
    select kid, private_key from signing_key where expires_at is null or expires_at > now()`
  const sealed = rows.filter(({ kid, private_key }) => !opens(secretBox, placeOf(kid), private_key))
  return { valid: rows.length, sealed: sealed.length }
}

function opens(secretBox: SecretBox, place: string, sealed: Uint8Array): boolean {
  try {
    secretBox.open(place, sealed)
    return true
  } catch (error) {
    if (!(error instanceof SecretBoxError)) throw error
    return false
  }
}
