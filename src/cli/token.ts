import { isKnownPermission } from '../auth/known-permissions.ts'
import { maxTokenLifetimeSeconds } from '../auth/signing-keys.ts'
import { issueOperatorToken, type OperatorTokenRequest } from '../issuer/operator-token.ts'
import { pathPrefix } from '../kernel/surface.ts'
import { type Command, readArgs, refuseUse, type ValuesOf } from './command.ts'
import { openOperatorAccess } from './operator.ts'
import { currentSettings, report } from './surroundings.ts'

const defaultLifetime = '1h'

const options = {
  admin: { type: 'boolean' },
  application: { type: 'boolean' },
  user: { type: 'string' },
  personal: { type: 'boolean' },
  permission: { type: 'string', multiple: true },
  lifetime: { type: 'string', default: defaultLifetime },
  audience: { type: 'string' },
  json: { type: 'boolean' },
} as const

export const token: Command = {
  name: 'token',
  summary: 'Print an access token, as an operator who can read the data directory',
  help: `
Usage: masquerade token --admin
       masquerade token --application --permission P [--permission P …]
       masquerade token --user UPN --permission P [--permission P …]
       masquerade token --personal [--user UPN] --permission P [--permission P …]

Prints nothing but a token. It is signed with the service's own key, so this works for the user who can read the data
directory (or MASQUERADE_SECRET_KEY_FILE) while the database runs, and for no other user. Each one is audited.

  --admin          The administrator of the first start, with every permission.
  --application    The administrative application, with the permissions named.
  --user UPN       A user of the directory, with the permissions named. 'user_impersonation' is the one for masking:
                   what the user may do there is up to role assignments.
  --personal       As a personal account; the administrator's unless --user names another.
  --permission P   May be given several times: Group.ReadWrite.All, User.Read, …
  --lifetime T     How long the token lives: 30s, 10m, 8h. ${defaultLifetime} unless said, 24h at most.
  --audience URI   The resource it is for. The service itself unless said.

  curl -H "Authorization: Bearer $(masquerade token --admin)" http://127.0.0.1:8080${pathPrefix.directory}/organization`,
  options,
  async run(args) {
    const { values } = readArgs('token', args, { options })
    const request = readRequest(values)
    await using access = await openOperatorAccess(currentSettings())
    const text = await issueOperatorToken({ ...access, sql: access.database.sql }, request)
    report(values, { token: text, expiresInSeconds: request.lifetimeSeconds }, `${text}\n`)
    return 0
  },
}

function readRequest(values: ValuesOf<typeof options>): OperatorTokenRequest {
  const { admin, application, user, personal, permission: permissions = [] } = values
  const isUser = user !== undefined || personal
  if ([admin, application, isUser].filter(Boolean).length !== 1)
    refuse('Say whom the token is for: one of --admin, --application, --user and --personal')
  if (admin && permissions.length > 0) refuse('--admin has every permission already')
  if (!admin && permissions.length === 0) refuse('Name at least one --permission')
  for (const name of permissions)
    if (!isKnownPermission(name)) refuse(`There is no permission '${name.slice(0, 100)}'`)
  return {
    for: admin
      ? { kind: 'administrator' }
      : application
        ? { kind: 'application' }
        : { kind: 'user', userPrincipalName: user, personal: personal === true },
    permissions,
    lifetimeSeconds: readLifetime(values.lifetime),
    audience: values.audience,
  }
}

const unitSeconds: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3600 }

function readLifetime(text: string): number {
  const [, amount = '', unit = ''] = /^(\d{1,6})([smh])$/.exec(text) ?? []
  const seconds = Number(amount) * (unitSeconds[unit] ?? Number.NaN)
  if (seconds > 0 && seconds <= maxTokenLifetimeSeconds) return seconds
  return refuse(`--lifetime '${text.slice(0, 20)}' is not a time such as 30s, 10m or 8h, up to 24h`)
}

function refuse(reason: string): never {
  return refuseUse('token', reason)
}
