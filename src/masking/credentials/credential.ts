import { randomBytes } from 'node:crypto'
import { Type } from 'typebox'
import type { Caller } from '../../auth/caller.ts'
import { mayUseMasking } from '../../auth/role-assignments.ts'
import { fail } from '../../kernel/problem.ts'
import { dateTime, nullableDateTime, uuid } from '../schemas.ts'
import type { DatabaseCredential } from './credential-store.ts'

export const credentialsPath = '/providers/Vendor.Sql/databaseCredentials'
export const credentialPath = `${credentialsPath}/:credentialName`
export const actions = {
  read: 'Vendor.Authorization/databaseCredentials/read',
  delete: 'Vendor.Authorization/databaseCredentials/delete',
} as const

export const credentialProperties = {
  principalId: uuid,
  databases: Type.Array(Type.String()),
  createdAt: dateTime,
  expiresAt: dateTime,
  lastUsedAt: nullableDateTime,
}

export const credentialAnswer = Type.Object(
  {
    id: Type.String(),
    name: Type.String(),
    type: Type.String(),
    properties: Type.Object(credentialProperties),
  },
  { title: 'databaseCredential' },
)

export function renderCredential({ id, name, ...credential }: DatabaseCredential) {
  const { principalId, databases, createdAt, expiresAt, lastUsedAt } = credential
  return {
    id: `${credentialsPath}/${id}`,
    name,
    type: 'Vendor.Sql/databaseCredentials',
    properties: {
      principalId,
      databases,
      createdAt: createdAt.toISOString(),
      expiresAt: expiresAt.toISOString(),
      lastUsedAt: lastUsedAt?.toISOString() ?? null,
    },
  }
}

/** Refuses tokens that would not open the gateway themselves: a credential must not give more than its maker has. */
export function requireGatewayUser(caller: Caller): void {
  if (mayUseMasking(caller) && !(caller.kind === 'delegated' && caller.personal)) return
  fail('AuthorizationFailed', {
    client: caller.applicationId,
    objectId: caller.objectId,
    action: actions.read,
    scope: '/',
  })
}

/** 256 random bits, so that there is nothing to guess. */
export function makePassword(): string {
  return `mqdb_${randomBytes(32).toString('base64url')}`
}
