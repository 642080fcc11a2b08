import { isIP } from 'node:net'
import { type Static, Type } from 'typebox'
import type { DatabaseAddress } from '../../db/database-url.ts'
import { isLoopbackHost } from '../../kernel/network.ts'
import { type Detail, fail } from '../../kernel/problem.ts'

/** From the weakest to the strongest. */
const sslModes = ['disable', 'require', 'verify-ca', 'verify-full'] as const

/** How to reach a real database. The password is apart from it, sealed. */
export interface Binding {
  readonly host: string
  readonly port: number
  readonly database: string
  readonly user: string
  readonly sslmode: (typeof sslModes)[number]
  /** PEM of the authority that `verify-ca` and `verify-full` trust; null: those of the system. */
  readonly sslRootCertificate: string | null
}

const nullable = (type: string) => ({ type: [type, 'null'] })

/** Kind and range of the fields are checked by `readBinding`, which answers for all of them at once. */
export const bindingInput = Type.Object(
  {
    host: Type.String(),
    port: Type.Optional(Type.Integer()),
    database: Type.String(),
    user: Type.String(),
    password: Type.Optional(Type.Unsafe<string | null>(nullable('string'))),
    sslmode: Type.Optional(Type.Unsafe<(typeof sslModes)[number] | null>({ enum: [...sslModes, null] })),
    sslRootCertificate: Type.Optional(Type.Unsafe<string | null>(nullable('string'))),
    passwordSet: Type.Optional(Type.Boolean()),
  },
  { additionalProperties: false },
)
export type BindingInput = Static<typeof bindingInput>

export const bindingAnswer = Type.Object({
  host: Type.String(),
  port: Type.Integer(),
  database: Type.String(),
  user: Type.String(),
  sslmode: Type.Unsafe<(typeof sslModes)[number]>({ enum: sslModes }),
  sslRootCertificate: Type.Unsafe<string | null>(nullable('string')),
  passwordSet: Type.Boolean(),
})

export function renderBinding(binding: Binding, passwordSet: boolean): Static<typeof bindingAnswer> {
  const { host, port, database, user, sslmode, sslRootCertificate } = binding
  return { host, port, database, user, sslmode, sslRootCertificate, passwordSet }
}

export function readBinding(input: BindingInput, allowedHosts: readonly string[]): Binding {
  const binding: Binding = {
    host: input.host,
    port: input.port ?? 5432,
    database: input.database,
    user: input.user,
    sslmode: input.sslmode ?? (isLoopbackHost(input.host) ? 'disable' : 'require'),
    sslRootCertificate: input.sslRootCertificate ?? null,
  }
  failOn([
    ...(isHost(binding.host) ? [] : [fault('host', 'must be a host name or an IP address')]),
    ...(isAllowed(binding.host, allowedHosts)
      ? []
      : [fault('host', 'is not among the hosts that this service may be bound to')]),
    ...(binding.port >= 1 && binding.port <= 65_535 ? [] : [fault('port', 'must be from 1 to 65535')]),
    ...checkIdentifier('database', binding.database),
    ...checkIdentifier('user', binding.user),
    ...checkPassword(input.password ?? ''),
    ...checkCertificate(binding),
  ])
  return binding
}

/** Whether a password sealed for one binding may serve another: only where it goes to the same place in the same way. */
export function sharesSecret(before: Binding, after: Binding): boolean {
  return (
    before.host.toLowerCase() === after.host.toLowerCase() &&
    before.port === after.port &&
    before.user === after.user &&
    before.sslRootCertificate === after.sslRootCertificate &&
    sslModes.indexOf(after.sslmode) >= sslModes.indexOf(before.sslmode)
  )
}

export function fault(field: string, reason: string): Detail {
  const target = `properties.binding.${field}`
  return { code: 'InvalidValue', message: `'${target}' ${reason}.`, target }
}

export function failOn(details: readonly Detail[]): undefined {
  const [first] = details
  if (!first) return undefined
  const reason = details.map(({ message }) => message).join(' ')
  fail('InvalidBinding', { reason }, { target: first.target ?? '', details })
}

/** Never a path: a socket would let the service's own account in. */
function isHost(host: string): boolean {
  return isIP(host) !== 0 || /^(?=.{1,253}$)[a-z0-9_](?:[\w.-]*[a-z0-9_])?$/i.test(host)
}

function isAllowed(host: string, allowed: readonly string[]): boolean {
  const name = host.toLowerCase()
  return (
    allowed.length === 0 ||
    allowed.some((entry) =>
      entry.startsWith('*.') ? name.endsWith(entry.slice(1).toLowerCase()) : name === entry.toLowerCase(),
    )
  )
}

function checkIdentifier(field: string, text: string): Detail[] {
  if (text === '' || Buffer.byteLength(text) > 63)
    return [fault(field, 'must have 1 to 63 bytes: PostgreSQL has no longer names')]
  return text.includes('\0') || !text.isWellFormed() ? [fault(field, 'must be well-formed Unicode')] : []
}

function checkPassword(text: string): Detail[] {
  const isUsable = text.length <= 1024 && !text.includes('\0') && text.isWellFormed()
  return isUsable ? [] : [fault('password', 'must be well-formed Unicode of at most 1024 characters')]
}

function checkCertificate({ sslRootCertificate: pem, sslmode }: Binding): Detail[] {
  if (pem === null) return []
  if (!sslmode.startsWith('verify-'))
    return [fault('sslRootCertificate', "needs 'properties.binding.sslmode' verify-ca or verify-full")]
  const isPem =
    pem.length <= 65_536 && /^-----BEGIN CERTIFICATE-----\s[\s\S]+-----END CERTIFICATE-----\s*$/.test(pem)
  return isPem ? [] : [fault('sslRootCertificate', 'must be PEM certificates')]
}

export function addressOf(binding: Binding, password: string): DatabaseAddress {
  const { host, port, database, user } = binding
  const ssl = tlsOf(binding)
  return { host, port, database, user, password, ...(ssl && { ssl }) }
}

function tlsOf({ sslmode, sslRootCertificate }: Binding): DatabaseAddress['ssl'] {
  const ca = sslRootCertificate === null ? {} : { ca: sslRootCertificate }
  switch (sslmode) {
    case 'disable':
      return undefined
    case 'require':
      return { rejectUnauthorized: false }
    case 'verify-ca':
      return { ...ca, rejectUnauthorized: true, checkServerIdentity: () => undefined }
    case 'verify-full':
      return { ...ca, rejectUnauthorized: true }
  }
}
