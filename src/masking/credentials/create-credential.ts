import { type Static, Type } from 'typebox'
import { created } from '../../api/operation.ts'
import { lockCallerUntilCommit } from '../../db/advisory-locks.ts'
import { fail } from '../../kernel/problem.ts'
import { operation, ownApiVersions } from '../operation.ts'
import { canonicalNamespace } from '../place.ts'
import { optionalString, strict } from '../schemas.ts'
import {
  credentialAnswer,
  credentialPath,
  credentialProperties,
  makePassword,
  renderCredential,
  requireGatewayUser,
} from './credential.ts'
import { countStored, storeCredential } from './credential-store.ts'

const dayMs = 24 * 60 * 60 * 1000
const defaultDays = 90
const longestDays = 366
const mostCredentials = 20
const namePattern = /^[a-z0-9][a-z0-9._-]{0,63}$/
const databasePattern =
  /^\/subscriptions\/[^/]+\/resourcegroups\/[^/]+\/providers\/[^/]+\/servers\/[^/]+\/databases\/[^/]+$/

const input = Type.Object(
  {
    properties: Type.Object(
      {
        databases: Type.Optional(Type.Array(Type.String({ maxLength: 1024 }), { maxItems: 100 })),
        expiresAt: optionalString,
        currentPassword: Type.Optional(Type.String({ minLength: 1, maxLength: 512 })),
      },
      strict,
    ),
  },
  {
    ...strict,
    title: 'newDatabaseCredential',
    examples: [{ properties: { currentPassword: 'Correct-Horse-1' } }],
  },
)
type Input = Static<typeof input>['properties']

export const createCredential = operation({
  name: 'createDatabaseCredential',
  clause: 'GATE-160',
  summary: 'Make a password for a tool that logs in at the gateway; it is shown once',
  method: 'PUT',
  path: credentialPath,
  apiVersions: ownApiVersions,
  permission: {
    anyCaller:
      'A person or application makes its own alone, and proves that it knows its password or a secret of its own.',
  },
  body: input,
  answers: {
    201: Type.Object(
      {
        ...credentialAnswer.properties,
        properties: Type.Object({
          ...credentialProperties,
          userName: Type.String(),
          password: Type.String(),
        }),
      },
      { title: 'createdDatabaseCredential' },
    ),
  },
  errors: [403, 409, 429],
  // Before the transaction: a wrong password is counted even though the request fails.
  async prepare({ caller, params, body, ports }) {
    requireGatewayUser(caller)
    const name = params.credentialName ?? ''
    if (!namePattern.test(name))
      fail('InvalidResourceName', {
        parameter: 'credentialName',
        reason: 'it has up to 64 lower-case letters, digits, dots, dashes and underscores',
      })
    const wishes = readWishes(body.properties)
    // A stolen token lasts an hour; a password made with it would last for months.
    const holdPassword = await ports.confirmPassword(caller, body.properties.currentPassword ?? '')
    const kind = caller.kind === 'delegated' ? 'user' : 'servicePrincipal'
    const login = (await ports.findLoginName(caller.tenantId, caller.objectId, kind)) ?? caller.objectId
    return { name, userName: `${login}+${name}`, holdPassword, ...wishes }
  },
  async run({ caller, tx, ports, audit }, { name, userName, holdPassword, databases, wishedEnd }) {
    const { tenantId, objectId: principalId } = caller
    // A new password ends the credentials that there are, so one that was proven by the old password must not come after.
    const passwordEnd = await holdPassword(tx)
    const expiresAt = passwordEnd && passwordEnd < wishedEnd ? passwordEnd : wishedEnd
    // Of requests that count at the same time each would stay below the limit.
    await lockCallerUntilCommit(tx, 'limits', principalId)
    if ((await countStored(tx, tenantId, principalId)) >= mostCredentials)
      fail('InvalidRequestContent', { reason: `There are ${mostCredentials} credentials already.` })
    const password = makePassword()
    const verifier = ports.writeVerifier(password)
    const stored = await storeCredential(tx, tenantId, { principalId, name, databases, expiresAt, verifier })
    const shown = renderCredential(stored)
    audit({ action: 'Vendor.Sql/databaseCredentials/write', target: shown.id, after: shown })
    return created({
      ...shown,
      properties: { ...shown.properties, userName, password },
    })
  },
})

function readWishes({ databases = [], expiresAt }: Input): { databases: string[]; wishedEnd: Date } {
  const paths = databases.map((path) =>
    path
      .toLowerCase()
      .replace(/\/providers\/[^/]+\/servers\//, `/providers/${canonicalNamespace.toLowerCase()}/servers/`),
  )
  if (!paths.every((path) => databasePattern.test(path)))
    fail('InvalidRequestContent', { reason: "'properties.databases' lists paths of databases." })
  const end = expiresAt ? new Date(expiresAt) : new Date(Date.now() + defaultDays * dayMs)
  const left = end.getTime() - Date.now()
  if (!(left > 0 && left <= longestDays * dayMs))
    fail('InvalidRequestContent', {
      reason: `'properties.expiresAt' is a time within the next ${longestDays} days.`,
    })
  return { databases: [...new Set(paths)], wishedEnd: end }
}
