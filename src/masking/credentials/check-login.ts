import type { Query } from '../../db/query.ts'
import type { SecretBox } from '../../kernel/secret-box.ts'
import type { TokenGrounds } from '../../kernel/token-grounds.ts'
import { findLogin, noteUse, type StoredLogin } from './credential-store.ts'

/** A principal that a user name means, if it exists and is enabled. */
interface NamedPrincipal {
  readonly id: string
  readonly kind: 'user' | 'servicePrincipal'
  /** The appId of an application; empty for a person. */
  readonly applicationId: string
}

export interface CredentialSources {
  readonly sql: Query
  readonly tenantId: string
  readonly secrets: SecretBox
  findPrincipal(name: string): Promise<NamedPrincipal | undefined>
}

export interface FoundCredential {
  /** Also where there is no credential: the client must not learn that before it has proven a password. */
  readonly verifier: string
  readonly principal:
    | (NamedPrincipal & { readonly grounds: TokenGrounds; readonly credential: string })
    | undefined
}

const iterations = 4096
const noHolder = '00000000-0000-0000-0000-000000000000'

/** Logins with credentials: by a name `person+credential`, and by SCRAM. */
export function createCredentialCheck({ sql, tenantId, secrets, ...sources }: CredentialSources) {
  return {
    async findCredential(name: string, credential: string, target: string): Promise<FoundCredential> {
      const whole = `${name}+${credential}`.toLowerCase()
      const holder = await sources.findPrincipal(name)
      // Asked for an account that does not exist too: the time of the answer must not tell.
      const stored = await findLogin(sql, tenantId, holder?.id ?? noHolder, credential)
      if (!holder || !stored) return { verifier: inventVerifier(secrets, whole), principal: undefined }
      if (!isInScope(stored, target)) return { verifier: stored.verifier, principal: undefined }
      const principal = { ...holder, credential, grounds: groundsOf(holder, stored) }
      return { verifier: stored.verifier, principal }
    },

    noteUse: (credentialId: string) => noteUse(sql, tenantId, credentialId),
  }
}

function isInScope({ databases }: StoredLogin, target: string): boolean {
  return databases.length === 0 || databases.includes(target.toLowerCase())
}

/** The session ends with the credential, and when its principal is disabled; times of tokens do not concern it. */
function groundsOf({ id, kind, applicationId }: NamedPrincipal, stored: StoredLogin): TokenGrounds {
  return {
    objectId: id,
    kind,
    applicationId,
    isOurs: false,
    knownPrincipalsOnly: true,
    issuedAtMs: Number.MAX_SAFE_INTEGER,
    isTimeExact: true,
    signInId: undefined,
    proofs: [],
    exchanged: [],
    credentialId: stored.id,
  }
}

/** The same salt for a name each time, as a stored verifier has. No client knows a password that fits. */
function inventVerifier(secrets: SecretBox, name: string): string {
  const bytes = (purpose: string) => secrets.derive(`no credential ${purpose} ${name}`)
  const salt = bytes('salt').subarray(0, 16).toString('base64')
  return `SCRAM-SHA-256$${iterations}:${salt}$${bytes('stored').toString('base64')}:${bytes('server').toString('base64')}`
}
