// A client by openapi-fetch, with types that openapi-typescript makes of the description, lists users, groups and
// applications, and creates a rule. TypeScript accepts it, and refuses a property that the description does not have.
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { check, clientId, modules, origin, secret, tellVersions, tenant } from './walk.ts'

const program = `
import createClient from 'openapi-fetch'
import type { paths } from './schema.d.ts'

const headers = { Authorization: 'Bearer ' + process.env.TOKEN }
const client = createClient<paths>({ baseUrl: process.env.WALK_ORIGIN ?? '', headers })
const users = await client.GET('/v1.0/users', { params: { query: { $top: 2 } } })
const names: string[] = (users.data?.value ?? []).map(({ userPrincipalName }) => userPrincipalName ?? '')
const groups = await client.GET('/v1.0/groups')
const applications = await client.GET('/v1.0/applications')
const [subscriptionId, resourceGroupName, serverName, databaseName] = ['walk', 'walk', 'generated', 'typescript']
const place = { subscriptionId, resourceGroupName, serverName, databaseName, dataMaskingRuleName: 'email' }
const rule = await client.PUT(
  '/subscriptions/{subscriptionId}/resourceGroups/{resourceGroupName}/providers/Vendor.Sql/servers/{serverName}/databases/{databaseName}/dataMaskingPolicies/Default/rules/{dataMaskingRuleName}',
  {
    params: { path: place, query: { 'api-version': '2014-04-01' } },
    body: { properties: { schemaName: 'public', tableName: 'person', columnName: 'email', maskingFunction: 'Email' } },
  },
)
const refused = await client.GET('/v1.0/users/{id}', { params: { path: { id: 'nobody@example.com' } } })
console.log(JSON.stringify({
  users: names,
  groups: groups.data?.value?.length,
  applications: applications.data?.value?.map(({ displayName }) => displayName),
  rule: [rule.response.status, rule.data?.properties?.ruleState],
  refused: refused.error?.error.code,
}))
`

const folder = mkdtempSync(path.join(tmpdir(), 'masquerade-generated-'))
try {
  await walk()
} finally {
  rmSync(folder, { recursive: true, force: true })
}

function run(args: readonly string[], environment = {}) {
  const options = { cwd: folder, encoding: 'utf8', env: { ...process.env, ...environment } } as const
  const { status, stdout, stderr } = spawnSync(process.execPath, args, options)
  return { status, stdout, told: `${stdout}${stderr}`.slice(-2000) }
}

/** Says whether TypeScript accepts the program. */
function checkTypes(source: string) {
  writeFileSync(path.join(folder, 'program.ts'), source)
  const options = [
    '--noEmit',
    '--strict',
    '--allowImportingTsExtensions',
    '--module',
    'nodenext',
    '--target',
    'es2024',
  ]
  const types = ['--types', 'node', '--typeRoots', path.resolve('node_modules/@types'), '--skipLibCheck']
  return run([path.join(modules, 'typescript/bin/tsc'), ...options, ...types, 'program.ts'])
}

async function getToken(): Promise<string> {
  const scope = 'https://graph.microsoft.com/.default'
  const form = { grant_type: 'client_credentials', client_id: clientId, client_secret: secret, scope }
  const url = `${origin}/${tenant}/oauth2/v2.0/token`
  const answer = await fetch(url, { method: 'POST', body: new URLSearchParams(form) })
  return ((await answer.json()) as { access_token: string }).access_token
}

async function walk(): Promise<void> {
  // Asked for before the long work, in which the connection would end.
  const token = await getToken()
  symlinkSync(modules, path.join(folder, 'node_modules'))
  writeFileSync(path.join(folder, 'package.json'), '{"type":"module"}')
  writeFileSync(path.join(folder, 'openapi.json'), await (await fetch(`${origin}/openapi.json`)).text())
  const made = run([path.join(modules, 'openapi-typescript/bin/cli.js'), 'openapi.json', '-o', 'schema.d.ts'])
  check('types are made of the description', made.status === 0, made.told)
  const wrong = checkTypes(program.replace("columnName: 'email'", 'columnName: 5'))
  check('TypeScript refuses a number in place of a text', /TS2322/.test(wrong.told), wrong.told)
  const accepted = checkTypes(program)
  check('TypeScript accepts the client', accepted.status === 0, accepted.told)
  const { status, stdout, told } = run(['program.ts'], { TOKEN: token })
  check('the client runs', status === 0, told)
  const { users, groups, applications, rule, refused } = JSON.parse(stdout)
  check('users are listed', users.length > 0 && users.every((name: string) => name.includes('@')), users)
  check('groups are listed', groups >= 0, groups)
  check('applications are listed', applications.includes('Masquerade command line'), applications)
  check('a rule is created', rule.join() === '201,Enabled', rule)
  check('an error has its type', refused === 'Request_ResourceNotFound', refused)
  tellVersions('openapi-fetch', 'openapi-typescript', 'typescript')
}
