import { createNetworkList, reachableAddress } from '../../kernel/network.ts'
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

/** Runs statements at this node's gateway under the name that the caller logs in by. */
export function createQueryPort(
  gatewayNow: () => { readonly port: number } | undefined,
  { host: listensOn, gatewayProxies }: { readonly host: string; readonly gatewayProxies: readonly string[] },
  findName: FindName,
) {
  const host = reachableAddress(listensOn)
  // Where a proxy of this machine is listed, so is this process.
  const isProxy = createNetworkList(gatewayProxies)(host)
  return async (asker: Asker, query: Omit<QueryRequest, 'user'>): Promise<QueryOutcome> => {
    const kind = asker.kind === 'application' ? 'servicePrincipal' : 'user'
    const user = await findName(asker.tenantId, asker.objectId, kind)
    const gateway = gatewayNow()
    if (user === undefined || !gateway) return 'loginRefused'
    return runQuery({ host, port: gateway.port, isProxy }, { ...query, user })
  }
}
