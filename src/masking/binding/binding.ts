import { isIP } from 'node:net'
import { type Static, Type } from 'typebox'
import { foldPlace, type Place, passwordMethods } from '../../db/database-url.ts'
import { type HostGuard, HostRefused } from '../../db/host-guard.ts'
import { isLoopbackHost } from '../../kernel/network.ts'
import { type Fault, failOn } from '../faults.ts'
import { ownApiVersion } from '../operation.ts'
import { nullableString, oneOf, strict } from '../schemas.ts'
import {
  type Binding,
  describePlaces,
  placesOf,
  readOnlyPlaces,
  serverOf,
  sslModes,
  strongestPassword,
} from './binding-address.ts'

/** Where a binding stands in the body. */
export const bindingStem = 'properties.binding'

const hostDescription =
  'A name or an address; or the servers of one cluster, one:5432,two:5432, of which the one that takes writes is used'

/** Kind and range of the fields are checked by `readBinding`, which answers for all of them at once. */
export const bindingInput = Type.Object(
  {
    host: Type.String({ description: hostDescription }),
    port: Type.Optional(Type.Integer({ description: 'Of the hosts that name none' })),
    database: Type.String(),
    user: Type.String(),
    password: Type.Optional(nullableString),
    sslmode: Type.Optional(oneOf([...sslModes, null])),
    sslRootCertificate: Type.Optional(nullableString),
    authentication: Type.Optional(oneOf([...passwordMethods, null])),
    passwordSet: Type.Optional(Type.Boolean()),
    readOnlySessions: Type.Optional(oneOf([...readOnlyPlaces, null])),
  },
  strict,
)
export type BindingInput = Static<typeof bindingInput>

export const bindingAnswer = Type.Object({
  host: Type.String({ description: hostDescription }),
  port: Type.Integer(),
  database: Type.String(),
  user: Type.String(),
  sslmode: oneOf(sslModes),
  sslRootCertificate: nullableString,
  authentication: oneOf(passwordMethods),
  passwordSet: Type.Boolean(),
  readOnlySessions: Type.Optional(
    oneOf(readOnlyPlaces, {
      description: 'Where sessions go that ask for read-only transactions; shown in version 2026-11-01',
    }),
  ),
})

export function renderBinding(
  binding: Binding,
  passwordSet: boolean,
  apiVersion: string,
): Static<typeof bindingAnswer> {
  const { others, port, database, user, sslmode, sslRootCertificate } = binding
  const { authentication = strongestPassword } = binding
  const host = others ? describePlaces(binding) : binding.host
  const shown = { host, port, database, user, sslmode, sslRootCertificate, authentication, passwordSet }
  const { readOnlySessions = 'Primary' } = binding
  return apiVersion === ownApiVersion ? { ...shown, readOnlySessions } : shown
}

/** Earlier versions do not know `readOnlySessions`: a binding to the same servers keeps what it had. */
export function readBinding(
  input: BindingInput,
  apiVersion: string | undefined,
  before: Binding | null | undefined,
): Binding {
  const binding = readFields(input)
  const isKnown = apiVersion === ownApiVersion
  if (input.readOnlySessions && !isKnown)
    failOn(
      'InvalidBinding',
      [{ field: 'readOnlySessions', reason: `needs api-version ${ownApiVersion}` }],
      bindingStem,
    )
  const kept = before && serverOf(before) === serverOf(binding) ? before.readOnlySessions : undefined
  const chosen = (isKnown ? input.readOnlySessions : kept) ?? 'Primary'
  if (chosen === 'Standby' && !binding.others)
    failOn(
      'InvalidBinding',
      [{ field: 'readOnlySessions', reason: 'needs a host that names several servers' }],
      bindingStem,
    )
  return chosen === 'Standby' ? { ...binding, readOnlySessions: chosen } : binding
}

function readFields(input: BindingInput): Binding {
  const [first, ...others] = splitHosts(input.host, input.port ?? 5432)
  const places = [first, ...others]
  const binding: Binding = {
    ...first,
    ...(others.length > 0 && { others }),
    database: input.database,
    user: input.user,
    sslmode: input.sslmode ?? (places.every(({ host }) => isLoopbackHost(host)) ? 'disable' : 'verify-full'),
    sslRootCertificate: input.sslRootCertificate ?? null,
    authentication: input.authentication ?? strongestPassword,
  }
  const faults: (Fault | false)[] = [
    !places.every(({ host }) => isHost(host)) && {
      field: 'host',
      reason: 'must be a host name or an IP address, or several with commas',
    },
    places.some(({ port }) => port < 1 || port > 65_535) && {
      field: 'port',
      reason: 'must be from 1 to 65535',
    },
    checkPlaces(places),
    checkIdentifier('database', binding.database),
    checkIdentifier('user', binding.user),
    checkPassword(input.password ?? ''),
    checkCertificate(binding),
  ]
  failOn(
    'InvalidBinding',
    faults.filter((fault) => fault !== false),
    bindingStem,
  )
  return binding
}

/** `one:5432,two:5432`, as psql takes them; hosts without a port have the one for all. */
function splitHosts(text: string, port: number): [Place, ...Place[]] {
  const parts = text.split(',')
  // One host alone has its port in its own field, and an address of IPv6 then has no brackets.
  if (parts.length === 1) return [{ host: text, port }]
  const places = parts.map((part) => {
    const [, bracketed, plain, own] = /^(?:\[([^\]]*)\]|([^:]*))(?::(\d{1,5}))?$/.exec(part.trim()) ?? []
    return { host: bracketed ?? plain ?? '', port: own === undefined ? port : Number(own) }
  })
  return places as [Place, ...Place[]]
}

function checkPlaces(places: readonly Place[]): Fault | false {
  if (places.length > mostHosts) return { field: 'host', reason: `must name at most ${mostHosts} hosts` }
  const isRepeated = new Set(places.map(foldPlace)).size < places.length
  return isRepeated && { field: 'host', reason: 'must name each server once' }
}

const mostHosts = 10

/** Whether a password sealed for one binding may serve another: only where it goes to the same place in the same way. */
export function sharesSecret(before: Binding, after: Binding): boolean {
  const known = new Set(placesOf(before).map(foldPlace))
  return (
    placesOf(after).every((place) => known.has(foldPlace(place))) &&
    before.database === after.database &&
    before.user === after.user &&
    before.sslRootCertificate === after.sslRootCertificate &&
    sslModes.indexOf(after.sslmode) >= sslModes.indexOf(before.sslmode) &&
    weaknessOf(after) <= weaknessOf(before)
  )
}

function weaknessOf({ authentication = strongestPassword }: Binding): number {
  return passwordMethods.indexOf(authentication)
}

/** A host that is unknown now may be known later; one that may not be bound to is refused at once. */
export async function requireHosts(guard: HostGuard, binding: Binding): Promise<void> {
  for (const { host, port } of placesOf(binding))
    await guard(host, port).catch((error: unknown) => {
      if (!(error instanceof HostRefused) || error.code !== 'EHOSTREFUSED') return
      const reason = binding.others ? `${host} ${error.message}` : error.message
      failOn('InvalidBinding', [{ field: 'host', reason }], bindingStem)
    })
}

/** Never a path: a socket would let the service's own account in. */
function isHost(host: string): boolean {
  return isIP(host) !== 0 || /^(?=.{1,253}$)[a-z0-9_](?:[\w.-]*[a-z0-9_])?$/i.test(host)
}

function checkIdentifier(field: string, text: string): Fault | false {
  if (text === '' || Buffer.byteLength(text) > 63)
    return { field, reason: 'must have 1 to 63 bytes: PostgreSQL has no longer names' }
  return (text.includes('\0') || !text.isWellFormed()) && { field, reason: 'must be well-formed Unicode' }
}

function checkPassword(text: string): Fault | false {
  const isUsable = text.length <= 1024 && !text.includes('\0') && text.isWellFormed()
  return !isUsable && { field: 'password', reason: 'must be well-formed Unicode of at most 1024 characters' }
}

function checkCertificate({ sslRootCertificate: pem, sslmode }: Binding): Fault | false {
  const field = 'sslRootCertificate'
  if (pem === null) return false
  if (!sslmode.startsWith('verify-'))
    return { field, reason: "needs 'properties.binding.sslmode' verify-ca or verify-full" }
  const isPem =
    pem.length <= 65_536 && /^-----BEGIN CERTIFICATE-----\s[\s\S]+-----END CERTIFICATE-----\s*$/.test(pem)
  return !isPem && { field, reason: 'must be PEM certificates' }
}
