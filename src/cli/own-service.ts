// For the service of this data directory. Loaded where one is used: a client of a service elsewhere needs no part of the server.
import { issueOperatorToken } from '../issuer/operator-token.ts'
import { type BoundName, listBoundNames } from '../masking/binding/find-bound.ts'
import { readShopAccess } from '../sample/shop.ts'
import type { Settings } from '../settings.ts'
import { openOperatorAccess } from './operator.ts'

const lifetimeSeconds = 3600

/** Signed with the service's key: an operator who can read the key may sign any token, and each is audited. */
export async function signToken(settings: Settings, userPrincipalName: string): Promise<string> {
  await using access = await openOperatorAccess(settings)
  return await issueOperatorToken(
    { ...access, sql: access.database.sql },
    {
      for: { kind: 'user', userPrincipalName, personal: false },
      permissions: ['user_impersonation'],
      lifetimeSeconds,
      audience: undefined,
    },
  )
}

/** The roles of the sample shop are for trying out: the data directory holds their passwords. */
export function readSamplePassword({ dataDir }: Settings, role: string): string | undefined {
  const shop = readShopAccess(dataDir)
  return shop && (role === 'analyst' || role === 'auditor') ? shop[role] : undefined
}

export async function listBound(settings: Settings): Promise<readonly BoundName[]> {
  await using access = await openOperatorAccess(settings)
  return await listBoundNames(access.database.sql, access.tenantId)
}
