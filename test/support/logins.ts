import { createHmac, randomUUID } from 'node:crypto'
import pino from 'pino'
import type { Database } from '../../src/db/database.ts'
import { loginRoleName } from '../../src/directory/principals/login-role.ts'
import { Logins } from '../../src/logins/logins.ts'
import type { LoginKeys } from '../../src/logins/mark.ts'
import type { LoginRights } from '../../src/logins/model.ts'
import type { Target } from '../../src/masks/policy.ts'
import { writeVerifier } from '../../src/wire/scram.ts'

export const derivePassword = (password: string, salt: Buffer) => ({
  password,
  verifier: () => writeVerifier(password, salt),
})

export const testKeys: LoginKeys = {
  roleName: loginRoleName,
  derive: (database, principal) =>
    derivePassword(`password of ${principal} in ${database}`, Buffer.from(principal).subarray(0, 16)),
  sign: (text) => createHmac('sha256', 'a key').update(text).digest('base64url'),
}

interface TestLoginsOptions {
  readonly tables?: readonly Target[]
  /** Other databases that are bound. */
  readonly bound?: readonly string[]
}

/** Login roles of one database, over rights that the test sets. */
export function createTestLogins(database: Database, options: TestLoginsOptions = {}) {
  const databaseId = randomUUID()
  const people = new Map<string, LoginRights>()
  const bound = new Set<string>([databaseId, ...(options.bound ?? [])])
  /** `afterReading` holds a node up with what it has read. */
  const createNode = (afterReading: () => Promise<void> = async () => {}, keys: LoginKeys = testKeys) =>
    new Logins({
      keys,
      bindingOf: () => '1',
      readExemptElsewhere: async () => new Set(),
      log: pino({ level: 'silent' }),
      source: {
        find: async (id) => (bound.has(id) ? {} : null),
        readPolicy: async () => ({ rules: options.tables ?? [], exemptPrincipals: [] }),
        async readLogins(_, principalIds) {
          const rights = principalIds.flatMap((id) => people.get(id) ?? [])
          await afterReading()
          return { rights: rights.filter(({ roles }) => roles.length > 0), tables: options.tables ?? [] }
        },
      },
    })
  const logins = createNode()
  return {
    databaseId,
    createNode,
    /** Adds a principal with these roles and returns its id. */
    add(name: string, roles: readonly string[], principalId: string = randomUUID()): string {
      people.set(principalId, { principalId, name, roles })
      return principalId
    },
    set(principalId: string, change: Partial<LoginRights>): void {
      const known = people.get(principalId)
      if (known) people.set(principalId, { ...known, ...change })
    },
    clear: () => people.clear(),
    remove: (principalId: string) => people.delete(principalId),
    prepare: (principalId: string, options?: { reset?: boolean }) =>
      logins.prepare(database, databaseId, principalId, options),
    settle: async () => {
      const settled = await logins.settle(database, databaseId)
      await logins.finish(database, databaseId, settled, [])
      return settled
    },
  }
}
