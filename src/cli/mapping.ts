import { OperatorError } from '../kernel/operator-error.ts'
import { type Command, readArgs } from './command.ts'
import { databaseHelp, lookOptions } from './look.ts'
import { findPrincipal, nameAll } from './mapping-principal.ts'
import { apiHelp, databasePathOf, type MaskingApi, openMaskingApi, Refused } from './masking-api.ts'

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

export const mapping: Command = {
  name: 'mapping',
  summary: 'Give database roles to people, groups and applications that log in through the gateway',
  help: `
Usage: masquerade mapping list   -d DATABASE [--json]
       masquerade mapping add    -d DATABASE --role ROLE --to PRINCIPAL [--name NAME] [--json]
       masquerade mapping remove -d DATABASE NAME

${databaseHelp} PRINCIPAL is a user by userPrincipalName, a group by its name if only one has it,
an application by its appId, and any of them by its object id; who may not read the directory names it by object id.

A person or application that logs in through the gateway with an access token has the roles that are mapped to it, and
to the groups it is in at any depth. A role that opens a way around the masks is refused, with the reason. Removing a
mapping ends the sessions that rest on it. docs/gateway.md says more.

  --name NAME      What to call the mapping. The role and the principal unless said.
${apiHelp}

  masquerade mapping add -d demo/demo/embedded/shop --role readers --to sales-readers

Exit codes: 0 done (also when the mapping was there), 1 refused, 2 wrong use.`,
  async run(args) {
    const { values, positionals } = readArgs('mapping', args, { options, allowPositionals: true })
    const [verb = '', ...names] = positionals
    const run = verbs[verb]
    if (!run) return refuse(verb === '' ? 'Say list, add or remove' : `There is no '${verb.slice(0, 100)}'`)
    if (names.length !== (verb === 'remove' ? 1 : 0))
      return refuse(verb === 'remove' ? 'Name one mapping' : `'${verb}' takes no name`)
    return run(values, names[0] ?? '')
  },
}

type Values = ReturnType<typeof readArgs<{ options: typeof options }>>['values']

const verbs: Readonly<Record<string, (values: Values, name: string) => Promise<number>>> = {
  async list(values) {
    const { api, path } = await open(values)
    const { body } = await api.send<{ value: Shown[] }>('GET', path)
    if (values.json) {
      process.stdout.write(`${JSON.stringify(body.value, null, 2)}\n`)
      return 0
    }
    const names = await nameAll(api, [...new Set(body.value.map((one) => one.properties.principalId))])
    const lines = body.value.map((one) => `${one.name}\t${describe(one, names)}\n`)
    process.stdout.write(lines.join(''))
    return 0
  },

  async add(values) {
    const { role, to } = values
    if (role === undefined || to === undefined) return refuse('--role and --to are needed')
    const { api, path } = await open(values)
    const { id, name: called = id } = await findPrincipal(api, to)
    const name = values.name ?? `${role}-${called}`
    const wanted = { databaseRole: role, principalId: id }
    const { body, state } = await create(api, `${path}/${encodeURIComponent(name)}`, wanted)
    if (values.json) process.stdout.write(`${JSON.stringify(body, null, 2)}\n`)
    else process.stdout.write(`${body.name}: ${describe(body, new Map([[id, called]]))} (${state}).\n`)
    return 0
  },

  async remove(values, name) {
    const { api, path } = await open(values)
    const { status } = await api.send('DELETE', `${path}/${encodeURIComponent(name)}`)
    if (status !== 200) throw new OperatorError(`There is no mapping '${name.slice(0, 200)}'.`)
    process.stdout.write(`${name} is removed.\n`)
    return 0
  },
}

/** Never in the place of another mapping that has the name already. */
async function create(api: MaskingApi, path: string, properties: Record<string, string>) {
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

async function open(values: Values): Promise<{ api: MaskingApi; path: string }> {
  const path = `${databasePathOf(values.database, 'mapping')}/roleMappings`
  return { api: await openMaskingApi(values), path }
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

function refuse(reason: string): never {
  throw new OperatorError(`${reason}. See 'masquerade help mapping'.`, { exitCode: 2 })
}
