import type { Operation } from '../api/operation.ts'
import { canonicalNamespace } from './place.ts'

/** Adds the same paths under every alias of `Vendor.Sql`, and of `Vendor.Authorization` under the same vendor. */
export function withAliases<O extends Operation<never>>(operation: O, aliases: readonly string[]): O {
  const aliasPaths = aliases.flatMap((alias) =>
    operation.paths.map((path) =>
      path.replace('Vendor.Sql', alias).replace('Vendor.Authorization', providerOf(alias, 'Authorization')),
    ),
  )
  return {
    ...operation,
    aliasPaths: [...new Set(aliasPaths)].filter((path) => !operation.paths.includes(path)),
  }
}

/** Another provider of the same vendor: `Microsoft.Sql` → `Microsoft.Authorization`. */
export function providerOf(namespace: string, kind: string): string {
  return `${namespace.replace(/\.[^.]*$/, '')}.${kind}`
}

/** The namespace that the request used, in our spelling of it. */
export function namespaceOf(path: string, aliases: readonly string[]): string {
  const sent = [...path.matchAll(/\/providers\/([^/]+)/gi)].map(([, name = '']) => decode(name).toLowerCase())
  const known = aliases.find((alias) =>
    [alias, providerOf(alias, 'Authorization')].some((name) => sent.includes(name.toLowerCase())),
  )
  return known ?? canonicalNamespace
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
