import { createNetworkList, reachableAddress } from '../../kernel/network.ts'
import { fail } from '../../kernel/problem.ts'
import { type QueryOutcome, type QueryRequest, runQuery } from './run-query.ts'

interface Asker {
  readonly tenantId: string
  readonly objectId: string
  readonly kind: 'delegated' | 'application'
}

type FindName = (
  tenantId: string,
  objectId: string,
  kind: 'user' | 'servicePrincipal',
) => Promise<string | undefined>

interface QueryPortOptions {
  /** Undefined, or with port 0, while the gateway takes no connections. */
  gatewayNow(): { readonly port: number } | undefined
  readonly settings: { readonly host: string; readonly gatewayProxies: readonly string[] }
  readonly certificate: string
  readonly findName: FindName
}

const retryAfterSeconds = 5

/** Runs statements at this node's gateway under the name that the caller logs in by. */
export function createQueryPort({ gatewayNow, settings, certificate, findName }: QueryPortOptions) {
  const host = reachableAddress(settings.host)
  // Where a proxy of this machine is listed, so is this process.
  const isProxy = createNetworkList(settings.gatewayProxies)(host)
  return async (asker: Asker, query: Omit<QueryRequest, 'user'>): Promise<QueryOutcome> => {
    const kind = asker.kind === 'application' ? 'servicePrincipal' : 'user'
    const user = await findName(asker.tenantId, asker.objectId, kind)
    if (user === undefined) return 'loginRefused'
    const { port = 0 } = gatewayNow() ?? {}
    if (port === 0) return fail('GatewayClosed', {}, { retryAfterSeconds })
    return runQuery({ host, port, certificate, isProxy }, { ...query, user })
  }
}
