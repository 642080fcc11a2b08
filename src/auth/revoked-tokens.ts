import type { TokenGrounds } from '../kernel/token-grounds.ts'
import type { Standing, TokenHolder } from './principals.ts'

/** A token and those that it was exchanged for: each stands while its principal and its client do. */
export function listExchanged(grounds: TokenGrounds): readonly [TokenGrounds, ...TokenGrounds[]] {
  return [grounds, ...grounds.exchanged.map((earlier) => ({ ...grounds, ...earlier, isTimeExact: true }))]
}

/**
 * True when the principal or client of a token was deleted, disabled or cut off since the token was issued, or the client does
 * not admit the person.
 */
export function isRevoked(grounds: TokenGrounds, standing: Standing | undefined): boolean {
  if (!standing) return true
  const { kind, isOurs, knownPrincipalsOnly } = grounds
  const hasPrincipal =
    standing.kind === kind ? standing.enabled : standing.kind === 'absent' && !knownPrincipalsOnly
  const hasClient = isOurs ? standing.client === 'enabled' : standing.client !== 'disabled'
  // Outside issuers decide by themselves which people get tokens.
  const isShutOut = isOurs && kind === 'user' && !standing.isAdmitted
  return !hasPrincipal || !hasClient || isShutOut || isCutOff(grounds, standing)
}

/** A token in whole seconds that shares the second of the revocation may have been issued after it. */
function isCutOff({ issuedAtMs, isTimeExact }: TokenGrounds, { validFromMs }: Standing): boolean {
  return isTimeExact ? issuedAtMs <= validFromMs : issuedAtMs < Math.floor(validFromMs / 1000) * 1000
}

export interface RevocationSources {
  /** In the order of the holders. */
  readStandings(holders: readonly TokenHolder[]): Promise<readonly Standing[]>
  /** Those of the sign-ins that go on. */
  findOpenSignIns(signInIds: readonly string[]): Promise<ReadonlySet<string>>
  /** Those of the proofs whose secret, certificate or address the application has, with the time of its end in milliseconds. */
  findKeptProofs(proofs: readonly string[]): Promise<ReadonlyMap<string, number>>
  /** Those of the stored credentials that are neither revoked nor expired. */
  findOpenCredentials(ids: readonly string[]): Promise<ReadonlySet<string>>
}

/** For each of the tokens whether it was revoked by now. It remembers no standing, as requests do. */
export function createRevocationCheck(sources: RevocationSources) {
  return async function findRevoked(tokens: readonly TokenGrounds[]): Promise<boolean[]> {
    const signInIds = [...new Set(tokens.flatMap(({ signInId }) => signInId ?? []))]
    const credentialIds = [...new Set(tokens.flatMap(({ credentialId }) => credentialId ?? []))]
    const proofs = [...new Set(tokens.flatMap((token) => token.proofs))]
    const all = tokens.map(listExchanged)
    const [standings, signIns, kept, credentials] = await Promise.all([
      sources.readStandings(all.flat()),
      signInIds.length > 0 ? sources.findOpenSignIns(signInIds) : new Set<string>(),
      proofs.length > 0 ? sources.findKeptProofs(proofs) : new Map<string, number>(),
      credentialIds.length > 0 ? sources.findOpenCredentials(credentialIds) : new Set<string>(),
    ])
    const inOrder = standings.values()
    return all.map((chain) => {
      const [grounds] = chain
      const { signInId, credentialId } = grounds
      const isOpen =
        (signInId === undefined || signIns.has(signInId)) &&
        grounds.proofs.every((proof) => kept.has(proof)) &&
        (credentialId === undefined || credentials.has(credentialId))
      const revoked = chain.map((each) => isRevoked(each, inOrder.next().value))
      return !isOpen || revoked.includes(true)
    })
  }
}
