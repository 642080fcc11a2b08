import { after, before } from 'node:test'
import pino from 'pino'
import { Registry } from 'prom-client'
import type { Database } from '../../src/db/database.ts'
import { readGatewayVersion, readMaskedFor } from '../../src/findings/per-role/read-masked.ts'
import { type Gateway, openGateway } from '../../src/gateway/gateway.ts'
import { createGatewayMetrics } from '../../src/gateway/metrics.ts'
import type {
  BackendAddress,
  BoundPlaces,
  GatewayLimits,
  GatewayPorts,
  Principal,
} from '../../src/gateway/ports.ts'
import { createCa, issueCertificate } from '../../src/http/local-ca.ts'
import type { TokenGrounds } from '../../src/kernel/token-grounds.ts'
import { takeTurn } from '../../src/masks/turn.ts'
import type { ClusterName } from './cluster.ts'
import { createMaskedDatabase, policy } from './masked-database.ts'

/** A principal as a token proves it. */
export function testPrincipal(id: string, kind: Principal['kind'] = 'user'): Principal {
  const grounds: TokenGrounds = {
    objectId: id,
    kind,
    applicationId: 'a client',
    isOurs: true,
    knownPrincipalsOnly: true,
    issuedAtMs: 0,
    isTimeExact: true,
    signInId: undefined,
    proofs: [],
    exchanged: [],
  }
  return { id, kind, applicationId: 'a client', grounds }
}

export const testLimits: GatewayLimits = {
  connections: 100,
  connectionsPerRole: 100,
  proxies: [],
  startupMs: 30_000,
  idleMs: 0,
  messageBytes: 0x3fffffff,
  allowWeakLogin: false,
  allowPlaintext: false,
  allowMaskedCopies: false,
  tellsMasks: false,
}

function placesOf({ database, others, ...own }: BackendAddress): BoundPlaces {
  return { database, places: [own, ...(others ?? [])], isSeveral: others !== undefined, version: '1' }
}

/** A gateway by itself before one database, without the rest of the service. */
export async function openBareGateway(
  database: Database,
  url: string,
  limits: Partial<GatewayLimits> = {},
  address: Partial<BackendAddress> = {},
  { workers = 1, ports = {} }: { workers?: number; ports?: Partial<GatewayPorts> } = {},
): Promise<Gateway> {
  const { hostname, port, pathname } = new URL(url)
  const { ca } = await createCa(['localhost'], new Date())
  const certificate = await issueCertificate(ca, ['localhost'], new Date())
  const found = {
    id: 'one',
    target: 'one',
    version: '1',
    isReached: true,
    address: {
      host: hostname,
      port: Number(port),
      database: decodeURIComponent(pathname.slice(1)),
      addresses: ['127.0.0.1'],
      ...address,
    },
  }
  const findDatabases = ports.findDatabases ?? (async () => [found])
  return openGateway({
    host: '127.0.0.1',
    port: 0,
    workers,
    limits: { ...testLimits, ...limits },
    ports: {
      findDatabases,
      findUnbound: async () => [],
      async findPlaces(ids) {
        const databases = await Promise.all(ids.map(async (id) => (await findDatabases(id))[0]))
        return new Map(
          databases.flatMap((each) => (each ? [[each.id, placesOf(each.address)] as const] : [])),
        )
      },
      findMasked: async () => [],
      findPrimary: async () => undefined,
      findStandby: async () => undefined,
      lookAtStandbys: async () => ({ standings: new Map(), close: [] }),
      readMasks: (_id, roles) => readMaskedFor(database.sql, roles),
      readVersion: () => readGatewayVersion(database.sql),
      findWouldMask: async () => [],
      checkToken: async () => ({ kind: 'refused' }),
      admitLogin: async () => ({ waitSeconds: 0, isTaken: false, isKnown: false }),
      endLogin: async () => {},
      findCredential: async () => ({ verifier: '', principal: undefined }),
      noteUse: async () => {},
      prepareLogin: async () => ({ kind: 'noRole' }),
      findRevoked: async (tokens) => tokens.map(() => false),
      endBackends: async () => {},
      passCancel: async () => {},
      recordSession: async () => {},
      recordRefusal: async () => {},
      recordEvents: async () => {},
      certificate: async () => certificate,
      nodeCertificate: async () => certificate,
      metrics: createGatewayMetrics(new Registry()),
      log: pino({ level: 'silent' }),
      ...ports,
    },
  })
}

/** A database without rules and a gateway before it, for one suite. Returns the address of its role `analyst`, through the gateway or not. */
export function useBareGateway(cluster: ClusterName): (isThrough: boolean) => string {
  let target: Awaited<ReturnType<typeof createMaskedDatabase>>
  let gateway: Gateway
  before(async () => {
    target = await createMaskedDatabase(cluster)
    await target.createRole('analyst')
    await takeTurn(target.database, policy([]))
    gateway = await openBareGateway(target.database, target.url)
  })
  after(async () => {
    await gateway.close(0)
    await target[Symbol.asyncDispose]()
  })
  return (isThrough) => {
    const url = new URL(target.urlOf('analyst'))
    if (isThrough) url.host = `127.0.0.1:${gateway.port}`
    return url.href
  }
}
