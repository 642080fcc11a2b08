import { randomUUID, X509Certificate } from 'node:crypto'
import type { Caller } from '../../auth/caller.ts'
import { requirePermissions } from '../../auth/permit.ts'
import { fail } from '../../kernel/problem.ts'
import type { Json, JsonObject } from '../entities/property.ts'
import { isJsonObject } from '../entities/storable.ts'
import { credentialPermissions } from './permissions.ts'

const property = 'keyCredentials'
const mostKeys = 10
const leastRsaBits = 2048

/** A certificate makes its holder as strong as the application: it takes the permission that a secret takes. */
export function checkKeyPermission(caller: Caller, changes: JsonObject): void {
  if (Object.hasOwn(changes, property)) requirePermissions(caller, credentialPermissions.write)
}

/** A new application without certificates is one that any of its permissions makes. */
export function checkFirstKeys(caller: Caller, sent: JsonObject): void {
  if (listOf(sent[property]).length > 0) requirePermissions(caller, credentialPermissions.write)
}

/**
 * The properties with certificates checked and described. An entry without `key` keeps the stored certificate of its
 * keyId, so that a client can send back the list that it read.
 */
export function completeKeys(sent: JsonObject, before: JsonObject = {}): JsonObject {
  if (!Object.hasOwn(sent, property)) return sent
  const stored = listOf(before[property]).filter(isJsonObject)
  const keys = listOf(sent[property]).map((entry) =>
    isJsonObject(entry) ? completeKey(entry, stored) : refuse(),
  )
  const ids = new Set(keys.map(({ keyId }) => keyId))
  if (keys.length > mostKeys || ids.size < keys.length) refuse()
  return { ...sent, [property]: keys.length > 0 ? keys : null }
}

function completeKey(entry: JsonObject, stored: readonly JsonObject[]): JsonObject {
  const { key, keyId, type, usage } = entry
  if (key === undefined || key === null) return stored.find((one) => one.keyId === keyId) ?? refuse('key')
  if ((type ?? 'AsymmetricX509Cert') !== 'AsymmetricX509Cert') refuse('type')
  if ((usage ?? 'Verify') !== 'Verify') refuse('usage')
  const certificate = readCertificate(key)
  const startsAt = Math.max(momentOf(entry.startDateTime, 0), certificate.validFromDate.getTime())
  const endsAt = Math.min(momentOf(entry.endDateTime, Infinity), certificate.validToDate.getTime())
  if (endsAt <= Math.max(startsAt, Date.now())) refuse('endDateTime')
  return {
    keyId: typeof keyId === 'string' ? keyId : randomUUID(),
    displayName: entry.displayName ?? certificate.subject.replaceAll('\n', ', ').slice(0, 120),
    type: 'AsymmetricX509Cert',
    usage: 'Verify',
    customKeyIdentifier: Buffer.from(certificate.fingerprint.replaceAll(':', ''), 'hex').toString('base64'),
    key: certificate.raw.toString('base64'),
    startDateTime: new Date(startsAt).toISOString(),
    endDateTime: new Date(endsAt).toISOString(),
  }
}

/** Certificates with RSA keys from 2048 bits and those of P-256: with these the official clients sign. */
function readCertificate(key: Json): X509Certificate {
  try {
    const certificate = new X509Certificate(Buffer.from(String(key), 'base64'))
    const { asymmetricKeyType: type, asymmetricKeyDetails: details } = certificate.publicKey
    const isRsa = type === 'rsa' && (details?.modulusLength ?? 0) >= leastRsaBits
    if (isRsa || (type === 'ec' && details?.namedCurve === 'prime256v1')) return certificate
  } catch {}
  return refuse('key')
}

function momentOf(value: Json | undefined, otherwise: number): number {
  return typeof value === 'string' ? new Date(value).getTime() : otherwise
}

function listOf(value: Json | undefined): readonly Json[] {
  return Array.isArray(value) ? value : []
}

function refuse(field?: string): never {
  const name = field ? `${property}.${field}` : property
  return fail('InvalidPropertyValue', { property: name, resource: 'Application' }, { target: property })
}
