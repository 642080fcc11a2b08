import { isIP } from 'node:net'
import { type Static, Type } from 'typebox'
import { passwordMethods } from '../../db/database-url.ts'
import { type HostGuard, HostRefused } from '../../db/host-guard.ts'
import { isLoopbackHost } from '../../kernel/network.ts'
import { type Fault, failOn } from '../faults.ts'
import { nullableString, oneOf, strict } from '../schemas.ts'
import { type Binding, sslModes, strongestPassword } from './binding-address.ts'

/** Where a binding stands in the body. */
export const bindingStem = 'properties.binding'

/** Kind and range of the fields are checked by `readBinding`, which answers for all of them at once. */
export const bindingInput = Type.Object(
  {
    host: Type.String(),
    port: Type.Optional(Type.Integer()),
    database: Type.String(),
    user: Type.String(),
    password: Type.Optional(nullableString),
    sslmode: Type.Optional(oneOf([...sslModes, null])),
    sslRootCertificate: Type.Optional(nullableString),
    authentication: Type.Optional(oneOf([...passwordMethods, null])),
    passwordSet: Type.Optional(Type.Boolean()),
  },
  strict,
)
export type BindingInput = Static<typeof bindingInput>

export const bindingAnswer = Type.Object({
  host: Type.String(),
  port: Type.Integer(),
  database: Type.String(),
  user: Type.String(),
  sslmode: oneOf(sslModes),
  sslRootCertificate: nullableString,
  authentication: oneOf(passwordMethods),
  passwordSet: Type.Boolean(),
})

export function renderBinding(binding: Binding, passwordSet: boolean): Static<typeof bindingAnswer> {
  const {
    host,
    port,
    database,
    user,
    sslmode,
    sslRootCertificate,
    authentication = strongestPassword,
  } = binding
  return { host, port, database, user, sslmode, sslRootCertificate, authentication, passwordSet }
}

export function readBinding(input: BindingInput): Binding {
  const binding: Binding = {
    host: input.host,
    port: input.port ?? 5432,
    database: input.database,
    user: input.user,
    sslmode: input.sslmode ?? (isLoopbackHost(input.host) ? 'disable' : 'verify-full'),
    sslRootCertificate: input.sslRootCertificate ?? null,
    authentication: input.authentication ?? strongestPassword,
  }
  const faults: (Fault | false)[] = [
    !isHost(binding.host) && { field: 'host', reason: 'must be a host name or an IP address' },
    (binding.port < 1 || binding.port > 65_535) && { field: 'port', reason: 'must be from 1 to 65535' },
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

/** Whether a password sealed for one binding may serve another: only where it goes to the same place in the same way. */
export function sharesSecret(before: Binding, after: Binding): boolean {
  return (
    before.host.toLowerCase() === after.host.toLowerCase() &&
    before.port === after.port &&
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
export async function requireHost(guard: HostGuard, host: string): Promise<void> {
  try {
    await guard(host)
  } catch (error) {
    if (!(error instanceof HostRefused) || error.code !== 'EHOSTREFUSED') return
    failOn('InvalidBinding', [{ field: 'host', reason: error.message }], bindingStem)
  }
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
