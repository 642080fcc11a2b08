import type { Operation } from '../../api/operation.ts'

/** A kind of provider under any vendor's name, as the operations of this room make it. */
export interface Provider {
  /** The second half of its namespace: `Sql`. */
  readonly kind: string
  readonly resourceTypes: ReadonlyMap<string, readonly string[]>
  /** Summaries of the operations by their action, without the namespace: `servers/read`. */
  readonly actions: ReadonlyMap<string, string>
}

const resourcesPaths = ['/subscriptions', '/subscriptions/:subscriptionId/resourceGroups', '/tenants']

/** The providers that a list of operations amounts to: nothing is listed that is not served. */
export function describeProviders(operations: readonly Operation<never>[]): readonly Provider[] {
  return ['Sql', 'Authorization', 'Resources'].map((kind) => ({
    kind,
    resourceTypes: new Map(operations.flatMap((one) => readTypes(one, kind))),
    actions: new Map(operations.flatMap((one) => readActions(one, kind))),
  }))
}

function readTypes(
  { paths, apiVersions = [] }: Operation<never>,
  kind: string,
): [string, readonly string[]][] {
  const newestFirst = apiVersions.toSorted().reverse()
  return paths.flatMap((path): [string, readonly string[]][] => {
    if (kind === 'Resources')
      return resourcesPaths.includes(path) ? [[path.split('/').at(-1) ?? '', newestFirst]] : []
    const [, below] = path.split(`/providers/Vendor.${kind}/`)
    const type = below?.split('/').filter((segment) => !segment.startsWith(':'))
    return type && /:\w+$/.test(path) ? [[type.join('/'), newestFirst]] : []
  })
}

function readActions({ permission: needed, summary }: Operation<never>, kind: string): [string, string][] {
  const action = 'action' in needed ? needed.action : ''
  return action.startsWith(`Vendor.${kind}/`) ? [[action.slice(`Vendor.${kind}/`.length), summary]] : []
}
