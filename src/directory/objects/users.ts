import type { Caller } from '../../auth/caller.ts'
import { holds } from '../../auth/permit.ts'
import type { Query } from '../../db/query.ts'
import { fail } from '../../kernel/problem.ts'
import { setPassword } from '../accounts/password.ts'
import type { JsonObject } from '../entities/property.ts'
import { isJsonObject } from '../entities/storable.ts'
import { createObject } from './create-object.ts'
import { deleteObject } from './delete-object.ts'
import { getObject } from './get-object.ts'
import { user } from './kinds/user.ts'
import { countObjects, listObjects } from './list-objects.ts'
import { locateMe, locateUser } from './locate.ts'
import { objectPermissions, ownPermissions } from './object-permissions.ts'
import type { DirectoryObject } from './object-store.ts'
import { updateObjectOf } from './update-object.ts'

/** Properties that people may change about themselves without a permission over all users. */
const ownProperties = new Set([
  'aboutMe',
  'businessPhones',
  'city',
  'country',
  'faxNumber',
  'givenName',
  'mobilePhone',
  'officeLocation',
  'postalCode',
  'preferredLanguage',
  'state',
  'streetAddress',
  'surname',
])

async function storePassword(
  tx: Query,
  { tenantId }: Caller,
  { id }: DirectoryObject,
  { passwordProfile: profile }: JsonObject,
): Promise<void> {
  if (!isJsonObject(profile)) return
  const { password, forceChangePasswordNextSignIn } = profile
  if (typeof password !== 'string')
    return fail('PropertyRequired', { property: 'password', resource: 'PasswordProfile' })
  await setPassword(tx, tenantId, id, password, { mustChange: forceChangePasswordNextSignIn === true })
}

/** A caller who may change their own object alone changes no account, name or password with it. */
function checkOwnUpdate(caller: Caller, changes: JsonObject): void {
  if (holds(caller, objectPermissions.user.update)) return
  for (const name of Object.keys(changes)) if (!ownProperties.has(name)) fail('InsufficientPrivileges')
}

const setAside = ['passwordProfile']

export const userOperations = [
  listObjects(user),
  countObjects(user),
  getObject(user, { locate: locateUser }),
  getObject(user, {
    name: 'getMe',
    path: '/me',
    locate: locateMe,
    permission: ownPermissions.read,
    readable: () => undefined,
  }),
  createObject(user, { setAside, also: storePassword }),
  updateObjectOf(user, { locate: locateUser, setAside, also: storePassword }),
  updateObjectOf(user, {
    name: 'updateMe',
    path: '/me',
    locate: locateMe,
    permission: ownPermissions.update,
    check: checkOwnUpdate,
    setAside,
    also: storePassword,
  }),
  deleteObject(user, locateUser),
]
