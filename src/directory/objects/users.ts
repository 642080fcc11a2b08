import type { Caller } from '../../auth/caller.ts'
import { holds } from '../../auth/permit.ts'
import { fail } from '../../kernel/problem.ts'
import { setPassword } from '../accounts/password.ts'
import { operationsOn } from '../entities/entity-operations.ts'
import type { EntityContext, Located } from '../entities/entity-set.ts'
import type { JsonObject } from '../entities/property.ts'
import { isJsonObject } from '../entities/storable.ts'
import { isSelfService } from '../rights/self-service.ts'
import { inviteUser } from './invite-user.ts'
import { user } from './kinds/user.ts'
import { objectPermissions, ownPermissions } from './object-permissions.ts'
import { objectSet, objectUpdate } from './object-set.ts'
import type { DirectoryObject } from './object-store.ts'
import { revokeSignIns } from './revoke-sign-ins.ts'

async function storePassword(
  { tx, caller }: EntityContext,
  { row }: Located<DirectoryObject>,
  { passwordProfile: profile }: JsonObject,
): Promise<void> {
  if (!isJsonObject(profile)) return
  const { password, forceChangePasswordNextSignIn } = profile
  if (typeof password !== 'string')
    return fail('PropertyRequired', { property: 'password', resource: 'PasswordProfile' })
  const mustChange = forceChangePasswordNextSignIn === true
  await setPassword(tx, caller.tenantId, row.id, password, { mustChange })
}

/** A caller who may change their own object alone changes no account, name or password with it. */
function checkOwnUpdate(caller: Caller, changes: JsonObject): void {
  if (holds(caller, objectPermissions.user.update)) return
  for (const name of Object.keys(changes)) if (!isSelfService(name)) fail('InsufficientPrivileges')
}

const users = objectSet(user, {
  creation: { also: storePassword },
  update: { ...objectUpdate, also: storePassword },
})

/** The signed-in user. */
const me = {
  ...users,
  one: 'Me',
  instances: ['/me'],
  permissions: {
    ...users.permissions,
    read: { row: ownPermissions.read },
    update: { row: ownPermissions.update },
  },
  readable: () => undefined,
  update: { ...objectUpdate, check: checkOwnUpdate, also: storePassword },
}

export const userOperations = [
  ...operationsOn(users, ['list', 'count', 'get', 'create', 'update', 'delete']),
  ...operationsOn(me, ['get', 'update']),
  inviteUser,
  revokeSignIns,
]
