import { chmodSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { type Database, openDatabase } from '../../src/db/database.ts'
import { readTenantId } from '../../src/db/instance.ts'
import { assignAtRoot } from '../../src/masking/role-assignments/assigned-roles.ts'
import { fillDirectory } from '../support/directory.ts'
import { addApplication } from '../support/issuer.ts'
import type { LogEntry } from '../support/membership-history.ts'
import type { TestService } from '../support/service.ts'
import { waitUntil } from '../support/wait-until.ts'
import { type FinalState, findMissedMutations, judge, type Verdict } from './history.ts'
import { Load, type LoadParts } from './load.ts'
import { type Entrances, startBalancer, startNodes } from './nodes.ts'
import { startPatroniStore } from './patroni-store.ts'
import { startSingleStore } from './single-store.ts'
import type { ClusterStore, Fault } from './store.ts'

export interface ClusterOptions {
  /** 'full': under Patroni, behind HAProxy. 'short': one server, and nothing but what the package has. */
  readonly kind: 'full' | 'short'
  readonly minutes: number
  /** Faults whose names contain one of these; undefined: all. */
  readonly only?: readonly string[] | undefined
  say(line: string): void
}

export interface FaultOutcome {
  readonly name: string
  readonly seconds: number
}

export interface ClusterReport {
  readonly outcomes: readonly FaultOutcome[]
  readonly verdict: Verdict
  readonly missedMutations: readonly string[]
  readonly summary: string
}

/** The longest that any kind of request may fail after a fault begins. */
export const mostSeconds = 30
const giveUpSeconds = 90
const rolePassword = 'cluster-role'
const databaseUrl =
  '/subscriptions/sub-1/resourceGroups/Group-1/providers/Vendor.Sql/servers/Srv/databases/shop'

/** Runs the cluster under load and faults for so long, and judges what its clients saw. */
export async function runCluster({ kind, minutes, only, say }: ClusterOptions): Promise<ClusterReport> {
  const folder = mkdtempSync(join(tmpdir(), 'masquerade-cluster-'))
  chmodSync(folder, 0o755)
  await using cleanup = new AsyncDisposableStack()
  cleanup.defer(() => {
    if (process.env.MASQUERADE_CLUSTER_KEEP) say(`files are in ${folder}`)
    else rmSync(folder, { recursive: true, force: true })
  })
  const store = await (kind === 'full' ? startPatroniStore(folder) : startSingleStore(folder))
  cleanup.defer(() => store.close())
  const { main, masked } = await createDatabases(store)
  const nodes = await startNodes(folder, main, kind === 'full' ? 3 : 2)
  cleanup.defer(() => nodes.close())
  const entrances = await openEntrances()
  const database = openDatabase({ url: main, poolSize: 2 })
  cleanup.defer(() => database.close())
  const parts = await prepareLoad(database, entrances, { user: store.user, password: store.password })
  const load = new Load(parts)
  await load.start()
  say('the cluster is under load')
  const outcomes = await sufferFaults()
  await load.stop()
  const state = await readFinalState(database, masked, parts.tenantId)
  return {
    outcomes,
    verdict: judge(load.history, state),
    missedMutations: findMissedMutations(load.history, state),
    summary: load.describe(),
  }

  async function openEntrances(): Promise<Entrances> {
    if (kind === 'full') {
      const balancer = await startBalancer(folder, nodes.nodes, store.primaryChecks)
      cleanup.defer(() => balancer.close())
      return balancer.entrances
    }
    return {
      http: nodes.nodes.map(({ httpPort }) => httpPort),
      gateway: nodes.nodes.map(({ gatewayPort }) => gatewayPort),
      postgres: Number(store.hosts[0]?.split(':')[1]),
    }
  }

  async function sufferFaults(): Promise<FaultOutcome[]> {
    const ended: FaultOutcome[] = []
    const until = performance.now() + minutes * 60_000
    const isChosen = ({ name }: Fault) => !only || only.some((part) => name.includes(part))
    const faults = [...nodes.faults, ...store.faults].filter(isChosen)
    if (faults.length === 0) throw new Error('no fault has such a name')
    await waitUntil('all kinds of requests succeed', () => load.recoveredAfter(0), {
      withinMs: 60_000,
    }).catch((error: Error) => {
      throw new Error(`${load.describe()} ${[...load.history.unclean.keys()].slice(0, 9).join('; ')}`, {
        cause: error,
      })
    })
    for (let at = 0; at < faults.length || performance.now() < until; at++) {
      const fault = faults[at % faults.length] as Fault
      const from = performance.now()
      const isWhole = async () => (await nodes.areReady()) && (await store.isWhole())
      // Where the cluster stays broken, what clients saw until then is judged all the same.
      const seconds = await suffer(fault, load, isWhole).catch((error: Error) => error)
      if (seconds instanceof Error) {
        const ready = (await nodes.areReady()) ? 'nodes are ready' : 'a node is not ready'
        say(`${fault.name}: ${seconds.message} (${ready}; ${await store.describe()})`)
        return [...ended, { name: fault.name, seconds: Number.POSITIVE_INFINITY }]
      }
      say(`${fault.name}: recovered within ${seconds.toFixed(1)} s (${load.describeSlowest(from)})`)
      ended.push({ name: fault.name, seconds })
      if (performance.now() > until && at >= faults.length - 1) break
    }
    return ended
  }
}

/** Seconds from the beginning of the fault until every kind of request succeeded again, while the fault lasts. */
async function suffer(fault: Fault, load: Load, isWhole: () => Promise<boolean>): Promise<number> {
  const from = performance.now()
  const end = await fault.begin()
  let recovered: number | undefined
  while (recovered === undefined && performance.now() - from < giveUpSeconds * 1000) {
    await wait(100)
    recovered = load.recoveredAfter(from)
  }
  // Sessions and requests that were not touched by the fault are no proof of recovery: it lasts a while.
  const least = 8_000 - (performance.now() - from)
  if (least > 0) await wait(least)
  const later = performance.now()
  await end()
  await waitUntil('the cluster is whole again', isWhole, { withinMs: 120_000, everyMs: 500 })
  await waitUntil('all kinds of requests succeed', () => load.recoveredAfter(later) !== undefined, {
    withinMs: giveUpSeconds * 1000,
  }).catch((cause: Error) => {
    throw new Error(`${fault.name}: ${load.listWaiting(later).join(', ')} did not recover`, { cause })
  })
  return (recovered ?? Number.POSITIVE_INFINITY) / 1000
}

async function createDatabases({ hosts, user, password }: ClusterStore) {
  const urlOf = (name: string) =>
    `postgres://${user}:${password}@${hosts.join(',')}/${name}?target_session_attrs=read-write`
  const admin = openDatabase({ url: urlOf('postgres'), poolSize: 1 })
  await admin.sql.unsafe('create database masquerade_store')
  await admin.sql.unsafe('create database shop')
  await admin.close()
  const masked = urlOf('shop')
  const shop = openDatabase({ url: masked, poolSize: 1 })
  await shop.sql.unsafe(`
    create table public.person (id int primary key, email text, phone text);
    insert into public.person values (1, 'ann@example.com', '555-1234');
    create table public.note (id int primary key, body text);
    create role analyst login password '${rolePassword}'; create role writer login password '${rolePassword}';
    grant select on public.person to analyst; grant insert on public.note to writer`)
  await shop.close()
  return { main: urlOf('masquerade_store'), masked }
}

async function prepareLoad(
  database: Database,
  entrances: Entrances,
  account: { user: string; password: string },
): Promise<LoadParts> {
  const tenantId = (await readTenantId(database.sql)) ?? ''
  const service = { database, tenantId } as TestService
  const application = await addApplication(service, {
    permissions: [
      'GroupMember.ReadWrite.All',
      'User.ReadWrite.All',
      'Group.ReadWrite.All',
      'Directory.Read.All',
    ],
  })
  await assignAtRoot(database.sql, tenantId, 'Owner', application.servicePrincipalId)
  const directory = fillDirectory(service)
  const groups: string[] = []
  const users: string[] = []
  for (let at = 0; at < 120; at++) groups.push(await directory.group())
  for (let at = 0; at < 300; at++) users.push(await directory.user())
  const client = { id: application.appId, secret: application.secret }
  await bindShop(entrances, account, tenantId, client)
  return {
    entrances,
    tenantId,
    client,
    groups,
    users,
    database: { url: databaseUrl, name: 'shop' },
    roles: { analyst: 'analyst', writer: 'writer', password: rolePassword },
  }
}

async function bindShop(
  entrances: Entrances,
  account: { user: string; password: string },
  tenantId: string,
  client: { id: string; secret: string },
): Promise<void> {
  const origin = `http://127.0.0.1:${entrances.http[0]}`
  const form = { grant_type: 'client_credentials', client_id: client.id, client_secret: client.secret }
  const answer = await waitUntil('the entrance is open', async () => {
    const response = await fetch(`${origin}/${tenantId}/oauth2/v2.0/token`, {
      method: 'POST',
      body: new URLSearchParams(form),
    }).catch(() => undefined)
    return response?.ok ? ((await response.json()) as { access_token: string }) : undefined
  })
  const put = async (path: string, properties: object) => {
    const response = await fetch(`${origin}${path}?api-version=2014-04-01`, {
      method: 'PUT',
      headers: { authorization: `Bearer ${answer?.access_token}`, 'content-type': 'application/json' },
      body: JSON.stringify({ properties }),
    })
    if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`)
  }
  const binding = { host: '127.0.0.1', port: entrances.postgres, database: 'shop', ...account }
  await put(databaseUrl, { binding })
  const columns = { email: 'Email', phone: 'Default' }
  for (const [columnName, maskingFunction] of Object.entries(columns))
    await put(`${databaseUrl}/dataMaskingPolicies/Default/rules/${columnName}`, {
      schemaName: 'public',
      tableName: 'person',
      columnName,
      maskingFunction,
    })
}

async function readFinalState(database: Database, masked: string, tenantId: string): Promise<FinalState> {
  const log = await database.sql<LogEntry[]>`
    select revision, kind, entity_id as container, data ->> 'id' as member from change_log
    where tenant_id = ${tenantId} and kind in ('memberAdded', 'memberRemoved') order by revision`
  const shop = openDatabase({ url: masked, poolSize: 1 })
  const notes = await shop.sql<{ id: number }[]>`select id from public.note`
  await shop.close()
  return { log, notes: new Set(notes.map(({ id }) => id)) }
}
