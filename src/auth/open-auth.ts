import type { Logger } from 'pino'
import type { Database } from '../db/database.ts'
import type { Query } from '../db/query.ts'
import type { SecretRing } from '../kernel/secret-box.ts'
import type { Settings } from '../settings.ts'
import { createGatekeeper, type Gatekeeper, type GatekeeperParts } from './gatekeeper.ts'
import { createIdentity, type Identity } from './identity.ts'
import { Memory } from './remember.ts'
import { createRevocationCheck, type RevocationSources } from './revoked-tokens.ts'
import type { AssignmentsOf } from './role-assignments.ts'
import { openSecretRing } from './secret-ring.ts'
import { createSharedTaking } from './shared-allowance.ts'
import { openSigningKeys, type SigningKeys } from './signing-keys.ts'
import { createThrottle } from './throttle.ts'
import { loadTrustedIssuers } from './trusted-issuers.ts'
import { createVerifier } from './verify-token.ts'

/** Everything about callers that the rest of the service is given. */
export interface Auth {
  readonly identity: Identity
  readonly secretBox: SecretRing
  readonly signingKeys: SigningKeys
  readonly gatekeeper: Gatekeeper
  readonly findRevoked: ReturnType<typeof createRevocationCheck>
  /** A token was revoked, on this node or another: what is remembered about tokens is asked for again. */
  hearRevocation(): void
  close(): void
}

export interface AuthOptions {
  readonly settings: Settings
  readonly database: Database
  readonly tenantId: string
  readonly embedded: boolean
  readonly assignmentsOf: AssignmentsOf
  readonly requireAnyRight: GatekeeperParts['requireAnyRight']
  readonly mayBeRevoked: GatekeeperParts['mayBeRevoked']
  revocationSources(sql: Query): RevocationSources
  readonly log: Logger
  /** How many nodes run, this one included. */
  countNodes(): number
  /** Where the service is reached; asked for with every token, known once it listens. */
  origin(): string
}

const defaultRequestsPerSecond = 100

export async function openAuth(options: AuthOptions): Promise<Auth> {
  const { settings, database, tenantId, assignmentsOf, log, origin } = options
  const secretBox = await openSecretRing(database.sql, settings)
  const outsideIssuers = loadTrustedIssuers(settings.trustedIssuersFile, tenantId, log)
  const signingKeys = await openSigningKeys({
    database,
    secretBox,
    rotationDays: settings.keyRotationDays,
    log,
  })
  const identity = createIdentity(tenantId, origin, settings.audiences)
  const sources = options.revocationSources(database.sql)
  const memory = new Memory(settings.tokenCheckSeconds)
  const gatekeeper = createGatekeeper({
    assignmentsOf,
    memory,
    requireAnyRight: options.requireAnyRight,
    mayBeRevoked: options.mayBeRevoked,
    verifier: createVerifier({ identity, signingKeys, outsideIssuers }),
    standingOf: memory.remember(
      async (objectId, applicationId) => (await sources.readStandings([{ objectId, applicationId }]))[0],
    ),
    findRevoked: createRevocationCheck(options.revocationSources(database.aside)),
    isSignInOpen: memory.remember(async (id) => (await sources.findOpenSignIns([id])).has(id)),
    findEndOfProofs: memory.remember(async (...proofs: readonly string[]) => {
      const kept = await sources.findKeptProofs(proofs)
      return Math.min(...proofs.map((proof) => kept.get(proof) ?? 0))
    }),
    throttle: createThrottle(settings.rateLimit ?? (options.embedded ? 0 : defaultRequestsPerSecond), {
      countNodes: options.countNodes,
      take: createSharedTaking(database.sql),
    }),
  })
  const findRevoked = createRevocationCheck(sources)
  return {
    identity,
    secretBox,
    signingKeys,
    gatekeeper,
    findRevoked,
    hearRevocation: () => memory.forget(),
    close: () => signingKeys.close(),
  }
}
