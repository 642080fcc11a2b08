import { type Static, Type } from 'typebox'
import type { Finding, Preflight } from '../../contracts/preflight.ts'
import { type BindingInput, bindingAnswer, bindingInput, renderBinding } from '../binding/binding.ts'
import type { Reached } from '../binding/bound-catalog.ts'
import { enforcementAnswer } from '../enforcement/enforcement.ts'
import { databaseApiVersions, specifiedVersion } from '../operation.ts'
import { keyRange } from '../page.ts'
import { idOf, keyOf, readServerPlace, serverPath } from '../place.ts'
import type { ListedKind } from '../resource.ts'
import { ignored, nullableString, oneOf, strict } from '../schemas.ts'
import { trackedAnswer, trackedInput } from '../tracked-resource.ts'
import { type DatabaseRow, selectDatabases } from './database-row.ts'

const connection = Type.Object({
  state: oneOf(['Reachable', 'Unreachable']),
  serverVersion: nullableString,
  reason: nullableString,
})

const preflight = Type.Object({
  warnings: Type.Array(
    Type.Object({
      code: Type.String(),
      message: Type.String(),
      statements: Type.Array(Type.String({ description: 'SQL that puts it right' })),
    }),
  ),
})

/** `binding` left out stays as it is, and null ends it: a tool that knows nothing of bindings takes none away. */
export const databaseInput = Type.Object(
  {
    ...trackedInput,
    properties: Type.Optional(
      Type.Object(
        {
          binding: Type.Optional(
            Type.Unsafe<BindingInput | null>({ ...bindingInput, type: ['object', 'null'] }),
          ),
          gatewayName: Type.Optional(Type.Unknown()),
          enforcement: Type.Optional(Type.Unknown()),
          connection: Type.Optional(Type.Unknown()),
          preflight: Type.Optional(Type.Unknown()),
          ...ignored([
            'collation',
            'catalogCollation',
            'maxSizeBytes',
            'createMode',
            'licenseType',
            'zoneRedundant',
            'status',
          ]),
        },
        strict,
      ),
    ),
    ...ignored(['sku']),
  },
  {
    ...strict,
    title: 'newDatabase',
    examples: [
      {
        location: 'local',
        properties: {
          binding: { host: 'db.example', database: 'tickets', user: 'masquerade', password: 'a secret' },
        },
      },
    ],
  },
)

export const databaseAnswer = Type.Object(
  {
    ...trackedAnswer,
    sku: Type.Optional(Type.Object({ name: Type.String(), tier: Type.String() })),
    properties: Type.Object({
      binding: Type.Union([bindingAnswer, Type.Null()]),
      gatewayName: Type.Unsafe<string | null>({
        type: ['string', 'null'],
        description: 'The shortest name that leads to it at the gateway; null while it is not bound',
      }),
      enforcement: Type.Optional(enforcementAnswer),
      connection: Type.Optional(connection),
      preflight: Type.Optional(preflight),
      status: Type.Optional(Type.Literal('Online')),
    }),
  },
  { title: 'database' },
)

/** Clients of the later versions look into these without asking whether they are there. */
const laterShape = { sku: { name: 'PostgreSQL', tier: 'PostgreSQL' }, status: 'Online' as const }

type Shown = Pick<DatabaseRow, 'place' | 'location' | 'tags' | 'binding' | 'bindingSecret' | 'gatewayName'>

export function renderDatabase(
  database: Shown,
  namespace: string,
  apiVersion = specifiedVersion,
): Static<typeof databaseAnswer> {
  const { place, location, tags, binding, bindingSecret, gatewayName } = database
  const isLater = apiVersion !== specifiedVersion
  return {
    id: idOf(place, namespace),
    name: place.databaseName,
    type: `${namespace}/servers/databases`,
    kind: null,
    location,
    tags: { ...tags },
    ...(isLater && { sku: laterShape.sku }),
    properties: {
      binding: binding && renderBinding(binding, bindingSecret !== null, apiVersion),
      gatewayName,
      ...(isLater && { status: laterShape.status }),
    },
  }
}

/** As the audit records it: every field of the binding that is not the usual one. */
export function renderAudited(database: Shown, namespace: string): ReturnType<typeof renderDatabase> {
  const shown = renderDatabase(database, namespace)
  const { binding } = shown.properties
  const { readOnlySessions } = database.binding ?? {}
  if (!binding || !readOnlySessions) return shown
  return { ...shown, properties: { ...shown.properties, binding: { ...binding, readOnlySessions } } }
}

export function renderPreflight(reached: Reached<Preflight>): Static<typeof preflight> {
  const warnings: readonly Finding[] = 'value' in reached ? reached.value.warnings : []
  return {
    warnings: warnings.map(({ code, message, statements }) => ({
      code,
      message,
      statements: [...statements],
    })),
  }
}

export function renderConnection(reached: Reached<Preflight>): Static<typeof connection> {
  return 'value' in reached
    ? { state: 'Reachable', serverVersion: reached.value.version, reason: null }
    : { state: 'Unreachable', serverVersion: null, reason: reached.unreachable }
}

export const databaseKind: ListedKind<DatabaseRow> = {
  plural: 'Databases',
  clause: 'MASK-107',
  summary: { list: 'List the databases of a server' },
  action: 'Vendor.Sql/servers/databases',
  apiVersions: databaseApiVersions,
  listPath: `${serverPath}/databases`,
  answer: databaseAnswer,
  async findParent({ params }) {
    readServerPlace(params)
  },
  list: ({ tx, tenantId, params }, _parent, { after, limit }) =>
    selectDatabases(tx, tenantId, { ...keyRange(keyOf(readServerPlace(params))), position: after }, limit),
  pageKeyOf: ({ place }) => keyOf(place),
  render: renderDatabase,
}
