import { OperatorError } from '../kernel/operator-error.ts'
import { type Api, apiHelp, databasePathOf, openApi, Refused } from './api.ts'
import { commandOf, refuseUse, type ValuesOf } from './command.ts'
import { exitCodes } from './exit-codes.ts'
import { databaseHelp, lookOptions } from './look.ts'
import { findPrincipal, nameAll } from './principals.ts'
import { report } from './surroundings.ts'
import { showText } from './table.ts'

const options = {
  ...lookOptions,
  role: { type: 'string' },
  to: { type: 'string' },
  name: { type: 'string' },
} as const

interface Shown {
  readonly name: string
  readonly properties: {
    readonly databaseRole: string
    readonly principalId: string
    readonly principalType: string | null
  }
}

export const mapping = commandOf({
  name: 'mapping',
  summary: 'Give database roles to people, groups and applications that log in through the gateway',
  help: `
Usage: masquerade mapping list   -d DATABASE
       masquerade mapping add    -d DATABASE --role ROLE --to PRINCIPAL [--name NAME]
       masquerade mapping remove -d DATABASE NAME

${databaseHelp} PRINCIPAL is a user by userPrincipalName, a group by its name if only one has it,
an application by its appId, and any of them by its object id; who may not read the directory names it by object id.

A person or application that logs in through the gateway with an access token has the roles that are mapped to it, and
to the groups it is in at any depth. A role that opens a way around the masks is refused, with the reason. Removing a
mapping ends the sessions that rest on it. docs/gateway.md says more.

  --name NAME      What to call the mapping. The role and the principal unless said.
${apiHelp}

  masquerade mapping add -d demo/demo/embedded/shop --role readers --to sales-readers

Exit codes: 0 done (also when the mapping was there), 1 refused, 2 wrong use, 5 no such mapping or principal, 6 denied.`,
  options,
  verbs: {
    list: { run: list },
    add: { run: add },
    remove: { takes: ['MAPPING'], run: remove },
  },
})

type Values = ValuesOf<typeof options>

async function list(values: Values): Promise<number> {
  const { api, path } = await open(values)
  const { body } = await api.send<{ value: Shown[] }>('GET', path)
  const ids = body.value.map((one) => one.properties.principalId)
  const names: ReadonlyMap<string, string> = values.json ? new Map() : await nameAll(api, ids)
  const lines = body.value.map((one) => `${one.name}\t${showText(describe(one, names))}\n`)
  report(values, body.value, lines.join('') || 'There is no mapping.\n')
  return 0
}

async function add(values: Values): Promise<number> {
  const { role, to } = values
  if (role === undefined || to === undefined) return refuseUse('mapping', '--role and --to are needed')
  const { api, path } = await open(values)
  const { id, name: called = id } = await findPrincipal(api, to)
  const name = values.name ?? `${role}-${called}`
  const wanted = { databaseRole: role, principalId: id }
  const { body, state } = await create(api, `${path}/${encodeURIComponent(name)}`, wanted)
  report(values, body, `${body.name}: ${describe(body, new Map([[id, called]]))} (${state}).\n`)
  return 0
}

async function remove(values: Values, name: string): Promise<number> {
  const { api, path } = await open(values)
  const { status } = await api.send('DELETE', `${path}/${encodeURIComponent(name)}`)
  if (status !== 200)
    throw new OperatorError(`There is no mapping '${name.slice(0, 200)}'.`, {
      exitCode: exitCodes.notFound,
    })
  report(values, { name, removed: true }, `${name} is removed.\n`)
  return 0
}

/** Never in the place of another mapping that has the name already. */
async function create(api: Api, path: string, properties: Record<string, string>) {
  try {
    return await api.send<Shown>('PUT', path, { properties }, { 'if-none-match': '*' })
  } catch (error) {
    if (!(error instanceof Refused) || error.status !== 412) throw error
  }
  const there = await api.send<Shown>('GET', path)
  const { databaseRole, principalId } = there.body.properties
  if (databaseRole === properties.databaseRole && principalId === properties.principalId) return there
  throw new OperatorError(
    `There is a mapping '${there.body.name}' for something else: ${describe(there.body, new Map())}. Say another --name, or remove it first.`,
  )
}

async function open(values: Values): Promise<{ api: Api; path: string }> {
  const path = `${databasePathOf(values.database, 'mapping')}/roleMappings`
  return { api: await openApi(values), path }
}

const kinds: Readonly<Record<string, string>> = {
  User: 'user',
  Group: 'group',
  ServicePrincipal: 'application',
}

function describe({ properties }: Shown, names: ReadonlyMap<string, string>): string {
  const { databaseRole, principalId, principalType } = properties
  if (principalType === null) return `${databaseRole} to ${principalId}, who is gone`
  const name = names.get(principalId)
  const called = name === undefined || name === principalId ? principalId : `${name} (${principalId})`
  return `${databaseRole} to ${kinds[principalType] ?? principalType} ${called}`
}
