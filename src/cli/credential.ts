import { apiHelp, apiOptions, databasePathOf, openApi } from './api.ts'
import { commandOf, type ValuesOf } from './command.ts'
import { readSecret } from './input.ts'
import { report } from './surroundings.ts'
import { showText } from './table.ts'

const options = {
  ...apiOptions,
  database: { type: 'string', short: 'd', multiple: true },
  days: { type: 'string' },
  application: { type: 'boolean' },
} as const

type Values = ValuesOf<typeof options>

interface Shown {
  readonly id: string
  readonly name: string
  readonly properties: {
    readonly principalId: string
    readonly databases: readonly string[]
    readonly expiresAt: string
    readonly lastUsedAt: string | null
    readonly userName?: string
    readonly password?: string
  }
}

const path = '/providers/Vendor.Sql/databaseCredentials'
const version = 'api-version=2026-11-01'

export const credential = commandOf({
  name: 'credential',
  summary: 'Passwords for tools that keep one and log in at the gateway',
  help: `
Usage: masquerade credential list
       masquerade credential create NAME [-d DATABASE]… [--days N] [--application]
       masquerade credential revoke NAME

A tool that cannot ask for access tokens logs in at the gateway with a credential: the user name is your userPrincipalName
(or the appId of the application), a plus, and the NAME. The password is shown once, and never sent by the tool: it proves
by SCRAM that it knows it. A credential has the rights of its owner, no more, and ends when it is revoked or expires, when
the account is disabled, and when its owner gets another password or loses a secret.
'create' makes one of your own, and asks for your password. --application: the token is that of an application, which makes
one of its own, and a secret of the application is asked for. 'list' shows those of everybody to administrators, who revoke them by id.

  -d DATABASE      Only for this database; several are allowed. Every database unless said.
  --days N         How long it lasts, at most 366 days. 90 unless said.
${apiHelp}`,
  options,
  verbs: {
    list: { run: list },
    create: { takes: ['NAME'], run: create },
    revoke: { takes: ['NAME'], run: revoke },
  },
})

async function list(values: Values): Promise<number> {
  const api = await openApi(values)
  const { body } = await api.send<{ value: Shown[] }>('GET', `${path}?${version}`)
  const lines = body.value.map((one) => `${describe(one)}\n`)
  report(values, body.value, lines.join('') || 'There is no credential.\n')
  return 0
}

function describe({ id, name, properties }: Shown): string {
  const { databases, expiresAt, lastUsedAt, principalId } = properties
  const scope = databases.length === 0 ? 'every database' : databases.map(showText).join(', ')
  const used = lastUsedAt === null ? 'never used' : `last used ${lastUsedAt}`
  return [name, id.split('/').at(-1), principalId, `until ${expiresAt}`, used, scope].join('\t')
}

async function create(values: Values, name: string): Promise<number> {
  const api = await openApi(values)
  const databases = (values.database ?? []).map((one) =>
    decodeURIComponent(databasePathOf(one, 'credential')),
  )
  const whose = values.application ? 'A secret of the application' : 'Your password'
  const currentPassword = await readSecret(`${whose}: `, `${whose} is expected on the standard input.`)
  const expiresAt =
    values.days && new Date(Date.now() + Number(values.days) * 24 * 60 * 60 * 1000).toISOString()
  const properties = {
    databases,
    ...(expiresAt && { expiresAt }),
    currentPassword,
  }
  const { body } = await api.send<Shown>('PUT', `${path}/${encodeURIComponent(name)}?${version}`, {
    properties,
  })
  const { userName, password, expiresAt: until } = body.properties
  report(
    values,
    body,
    `User name: ${showText(userName ?? '')}\nPassword:  ${password}\nIt is shown this once, and lasts until ${until}.\n`,
  )
  return 0
}

async function revoke(values: Values, name: string): Promise<number> {
  const api = await openApi(values)
  await api.send('DELETE', `${path}/${encodeURIComponent(name)}?${version}`)
  report(values, { revoked: name }, `${showText(name)} is revoked; its sessions end within seconds.\n`)
  return 0
}
