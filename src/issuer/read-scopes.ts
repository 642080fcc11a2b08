export interface RequestedScopes {
  /** Bare names: `openid`, `User.Read`, `.default`. */
  readonly names: readonly string[]
  /** The resources that the scopes name, each once; empty when none does. */
  readonly resources: readonly string[]
}

/** Takes `https://graph.microsoft.com/User.Read` apart. A resource that ends in a slash gives two before the name. */
export function readScopes(scope: string): RequestedScopes {
  const names = new Set<string>()
  const resources = new Set<string>()
  for (const piece of scope.split(' ').filter(Boolean)) {
    const slash = piece.lastIndexOf('/')
    if (slash > 0) resources.add(piece.slice(0, slash).replace(/\/$/, ''))
    names.add(piece.slice(slash + 1))
  }
  return { names: [...names], resources: [...resources] }
}
