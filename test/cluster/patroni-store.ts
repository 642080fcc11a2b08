import { spawnSync } from 'node:child_process'
import { chownSync, existsSync, mkdirSync, readFileSync, rmSync, statfsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { waitUntil } from '../support/wait-until.ts'
import { Daemon, findFreePort } from './process.ts'
import { NetworkLink } from './proxy.ts'
import type { ClusterStore } from './store.ts'

const bin = '/usr/lib/postgresql/15/bin'
const diskMb = 600
const password = 'cluster-test'

/** Programs that the full test needs and the machine lacks. */
export function listMissing(): string[] {
  const isThere = (name: string) => spawnSync('sh', ['-c', `command -v ${name}`]).status === 0
  const missing = ['etcd', 'patroni', 'haproxy'].filter((name) => !isThere(name))
  return existsSync(join(bin, 'postgres')) ? missing : [...missing, 'PostgreSQL 15 of Debian']
}

interface Server {
  readonly name: string
  readonly daemon: Daemon
  readonly port: number
  readonly links: { readonly postgres: NetworkLink; readonly rest: NetworkLink; readonly etcd: NetworkLink[] }
  readonly folder: string
}

interface Member {
  readonly name: string
  readonly role: string
  readonly state: string
  readonly timeline?: number
  readonly lag?: number | string
}

/** Three PostgreSQL servers under Patroni with three members of etcd, replicating synchronously. */
export async function startPatroniStore(folder: string): Promise<ClusterStore> {
  const account = readAccount('postgres')
  const etcd = await startEtcd(folder)
  const servers: Server[] = []
  for (const name of ['one', 'two', 'three']) servers.push(await prepareServer(folder, name, etcd, account))
  for (const { daemon } of servers) daemon.start()
  const list = () => listMembers(servers)
  const isWhole = async () => {
    const members = await list()
    const leader = members.find(({ role, state }) => role === 'leader' && state === 'running')
    const isSafe = members.some(({ role }) => role === 'sync_standby')
    // One that is being rewound tells of no lag: a fault of its source would leave it damaged.
    const isNear = ({ state, lag, timeline }: Member) =>
      ['running', 'streaming'].includes(state) &&
      timeline === leader?.timeline &&
      Number(lag ?? Number.NaN) <= 16 * 1024 * 1024
    const isThere = (one: Member) => one === leader || isNear(one)
    return members.length === servers.length && isSafe && members.every(isThere)
  }
  const close = async () => {
    for (const server of servers) {
      signalServer(server, 'SIGKILL')
      await server.daemon.stop('SIGKILL')
    }
    for (const { daemon } of etcd) await daemon.stop('SIGKILL')
    for (const { links, folder: place } of servers) {
      for (const link of [links.postgres, links.rest, ...links.etcd]) await link.close()
      spawnSync('umount', ['-l', place])
    }
  }
  try {
    await waitUntil('the cluster runs', isWhole, { withinMs: 180_000, everyMs: 500 })
  } catch (error) {
    await close()
    throw error
  }
  const findPrimary = async () => {
    const leader = (await list()).find(({ role }) => role === 'leader')
    return servers.find(({ name }) => name === leader?.name) ?? (servers[0] as Server)
  }
  return {
    hosts: servers.map(({ links }) => `127.0.0.1:${links.postgres.port}`),
    user: 'postgres',
    password,
    primaryChecks: servers.map(({ links }) => ({ port: links.postgres.port, check: links.rest.port })),
    isWhole,
    describe: async () =>
      `${JSON.stringify(await list())}, free: ${servers.map(({ folder }) => describeRoom(folder)).join(', ')}`,
    faults: listFaults(servers, etcd, findPrimary),
    close,
  }
}

function listFaults(
  servers: readonly Server[],
  etcd: Awaited<ReturnType<typeof startEtcd>>,
  findPrimary: () => Promise<Server>,
): ClusterStore['faults'] {
  const linksOf = ({ links }: Server) => [links.postgres, links.rest, ...links.etcd]
  const onPrimary = (begin: (server: Server) => void, end: (server: Server) => void) => async () => {
    const server = await findPrimary()
    begin(server)
    return async () => end(server)
  }
  let turn = 0
  return [
    {
      name: 'primary: kill -9 of PostgreSQL and Patroni',
      begin: onPrimary(
        (server) => signalServer(server, 'SIGKILL'),
        ({ daemon }) => daemon.start(),
      ),
    },
    {
      name: 'primary: SIGSTOP of PostgreSQL and Patroni',
      begin: onPrimary((server) => signalServer(server, 'SIGSTOP'), wakeServer),
    },
    {
      name: 'primary: network cut',
      begin: onPrimary(
        (server) => {
          for (const link of linksOf(server)) link.cut()
        },
        (server) => {
          for (const link of linksOf(server)) link.heal()
        },
      ),
    },
    {
      name: 'all servers: 40 ms of delay',
      async begin() {
        for (const { links } of servers) links.postgres.slow(40)
        return async () => {
          for (const { links } of servers) links.postgres.heal()
        }
      },
    },
    {
      name: 'etcd: kill -9 of a member',
      async begin() {
        const member = etcd[turn++ % etcd.length]
        member?.daemon.signal('SIGKILL')
        return async () => member?.daemon.start()
      },
    },
    ...(servers.every(({ folder }) => isOwnDisk(folder))
      ? [{ name: 'primary: disk full for 15 s', begin: onPrimary(fillForAWhile, freeDisk) }]
      : []),
  ]
}

/** To Patroni, the postmaster and its children, which are each in a group of their own. */
function signalServer(server: Server, signal: NodeJS.Signals): void {
  server.daemon.signal(signal)
  signalPostgres(server, signal)
}

/**
 * The old primary goes on for a moment, and would answer sessions from before. Its Patroni is started anew: one of 3.0 that
 * goes on takes the key of the leader back from its successor, whose commits are lost then. Operators have a watchdog for that.
 */
function wakeServer(server: Server): void {
  server.daemon.signal('SIGKILL')
  signalPostgres(server, 'SIGCONT')
  server.daemon.start()
}

function signalPostgres({ folder }: Server, signal: NodeJS.Signals): void {
  const file = join(folder, 'data', 'postmaster.pid')
  const postmaster = existsSync(file) ? Number(readFileSync(file, 'utf8').split('\n')[0]) : 0
  if (postmaster === 0) return
  const { stdout } = spawnSync('ps', ['-o', 'pid=', '--ppid', String(postmaster)], { encoding: 'utf8' })
  for (const pid of [postmaster, ...stdout.split(/\s+/).filter(Boolean).map(Number)])
    try {
      process.kill(pid, signal)
    } catch {
      // It ended in between.
    }
}

/** Where its log has room PostgreSQL goes on, and is not replaced: writes that need more fail until an operator frees the disk. */
function fillForAWhile(server: Server): void {
  fillDisk(server)
  setTimeout(() => freeDisk(server), 15_000)
}

const fillerOf = ({ folder }: Server) => join(folder, 'filler')

function fillDisk(server: Server): void {
  spawnSync('dd', ['if=/dev/zero', `of=${fillerOf(server)}`, 'bs=64k'])
}

function freeDisk(server: Server): void {
  rmSync(fillerOf(server), { force: true })
}

function isOwnDisk(folder: string): boolean {
  const { bsize, blocks } = statfsSync(folder)
  return bsize * blocks <= diskMb * 1024 * 1024
}

function describeRoom(folder: string): string {
  const { bsize, bavail } = statfsSync(folder)
  return `${Math.round((bsize * bavail) / 1024 / 1024)} MB`
}

async function listMembers(servers: readonly Server[]): Promise<Member[]> {
  for (const { links } of servers)
    try {
      const address = `http://127.0.0.1:${links.rest.port}/cluster`
      const response = await fetch(address, { signal: AbortSignal.timeout(2_000) })
      const { members = [] } = (await response.json()) as { members?: Member[] }
      if (members.length > 0) return members
    } catch {
      // This server is the one that is down.
    }
  return []
}

function readAccount(name: string): { uid: number; gid: number } {
  const read = (flag: string) => Number(spawnSync('id', [flag, name], { encoding: 'utf8' }).stdout)
  return { uid: read('-u'), gid: read('-g') }
}

async function startEtcd(folder: string) {
  const members = []
  for (const name of ['e1', 'e2', 'e3'])
    members.push({ name, client: await findFreePort(), peer: await findFreePort() })
  const cluster = members.map(({ name, peer }) => `${name}=http://127.0.0.1:${peer}`).join(',')
  const started = members.map(({ name, client, peer }) => {
    const daemon = new Daemon({
      command: 'etcd',
      args: [
        ...['--name', name, '--data-dir', join(folder, name), '--initial-cluster', cluster],
        ...['--listen-client-urls', `http://127.0.0.1:${client}`],
        ...['--advertise-client-urls', `http://127.0.0.1:${client}`],
        ...['--listen-peer-urls', `http://127.0.0.1:${peer}`],
        ...['--initial-advertise-peer-urls', `http://127.0.0.1:${peer}`],
        ...['--heartbeat-interval', '200', '--election-timeout', '2000'],
      ],
      logFile: join(folder, `${name}.log`),
    })
    daemon.start()
    return { daemon, client }
  })
  // Patroni ends when it meets members that have not agreed on a version yet.
  for (const { client } of started)
    await waitUntil('etcd has a leader', async () => {
      const response = await fetch(`http://127.0.0.1:${client}/version`).catch(() => undefined)
      return /"etcdcluster":"\d/.test((await response?.text()) ?? '')
    })
  return started
}

async function prepareServer(
  parent: string,
  name: string,
  etcd: readonly { client: number }[],
  account: { uid: number; gid: number },
): Promise<Server> {
  const folder = join(parent, name)
  mkdirSync(folder)
  // Where the test may mount, each server has a small disk of its own that can be filled.
  spawnSync('mount', ['-t', 'tmpfs', '-o', `size=${diskMb}m`, 'tmpfs', folder])
  chownSync(folder, account.uid, account.gid)
  const [port, rest] = [await findFreePort(), await findFreePort()]
  const links = {
    postgres: await NetworkLink.open(port),
    rest: await NetworkLink.open(rest),
    etcd: await Promise.all(etcd.map(({ client }) => NetworkLink.open(client))),
  }
  const file = join(parent, `${name}.json`)
  writeFileSync(file, JSON.stringify(configure(name, folder, port, rest, links)))
  chownSync(file, account.uid, account.gid)
  const logFile = join(parent, `${name}.log`)
  writeFileSync(logFile, '')
  const daemon = new Daemon({ command: 'patroni', args: [file], logFile, account })
  return { name, daemon, port, links, folder }
}

/** Patroni reads JSON, as YAML holds it. */
function configure(name: string, folder: string, port: number, rest: number, links: Server['links']) {
  return {
    scope: 'masquerade',
    name,
    restapi: { listen: `127.0.0.1:${rest}`, connect_address: `127.0.0.1:${links.rest.port}` },
    etcd3: { hosts: links.etcd.map((link) => `127.0.0.1:${link.port}`), use_proxies: true },
    bootstrap: {
      dcs: {
        ttl: 15,
        loop_wait: 2,
        retry_timeout: 6,
        primary_start_timeout: 0,
        master_start_timeout: 0,
        synchronous_mode: true,
        maximum_lag_on_failover: 1_048_576,
        postgresql: {
          use_pg_rewind: true,
          parameters: {
            max_connections: 150,
            shared_buffers: '32MB',
            max_wal_size: '96MB',
            wal_keep_size: '64MB',
            wal_log_hints: 'on',
            max_wal_senders: 8,
          },
        },
      },
      initdb: [{ encoding: 'UTF8' }, { locale: 'C' }, { 'wal-segsize': '4' }],
    },
    postgresql: {
      listen: `127.0.0.1:${port}`,
      connect_address: `127.0.0.1:${links.postgres.port}`,
      data_dir: join(folder, 'data'),
      bin_dir: bin,
      pgpass: join(folder, 'pgpass'),
      pg_hba: [
        'local all all trust',
        'host all all 127.0.0.1/32 scram-sha-256',
        'host replication all 127.0.0.1/32 scram-sha-256',
      ],
      authentication: {
        superuser: { username: 'postgres', password },
        replication: { username: 'replicator', password },
        rewind: { username: 'rewinder', password },
      },
      parameters: { unix_socket_directories: folder },
    },
  }
}
