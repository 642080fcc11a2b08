import { type Answer, created, ok } from '../../api/operation.ts'
import type { Query } from '../../db/query.ts'
import { fail } from '../../kernel/problem.ts'
import {
  type DatabaseRow,
  findDatabase,
  lockOrCreateDatabase,
  requireDeclared,
} from '../databases/database-row.ts'
import { checkConditions, entityTag } from '../entity-tag.ts'
import {
  apiVersions,
  namespaceOfRequest,
  operation,
  type PrincipalType,
  withEnforcement,
} from '../operation.ts'
import { canonicalNamespace, mappingsPath, readDatabasePlace, scopeOf } from '../place.ts'
import { mappingAnswer, mappingInput, mappingTarget, readMappingName, renderMapping } from './mapping.ts'
import {
  findMapping,
  findMappingOf,
  insertMapping,
  type Mapping,
  type MappingProperties,
  updateMapping,
} from './mapping-row.ts'
import { checkAgainstDatabase, validateMapping } from './validate-mapping.ts'

const action = 'Vendor.Sql/servers/databases/roleMappings/write'

export const createOrUpdateRoleMapping = operation({
  name: 'createOrUpdateRoleMapping',
  clause: 'GATE-20',
  summary: 'Give a database role to a user, a service principal or the people of a group',
  method: 'PUT',
  path: `${mappingsPath}/:roleMappingName`,
  apiVersions,
  permission: { action, scope: scopeOf },
  body: mappingInput,
  answers: { 200: mappingAnswer, 201: mappingAnswer },

  async prepare({ params, body, caller, tx, request, ports }): Promise<Prepared> {
    const place = readDatabasePlace(params)
    readMappingName(params)
    const valid = await validateMapping(body.properties ?? {}, caller.tenantId, ports)
    const database = await findDatabase(tx, caller.tenantId, place)
    if (ports.strict)
      await requireDeclared(tx, caller.tenantId, place, database, namespaceOfRequest({ request, ports }))
    if (database?.bound) await checkAgainstDatabase(valid.mapping, database, tx, ports)
    return { ...valid, checkedBinding: database?.bindingVersion ?? 0 }
  },

  async run({ params, caller, tx, request, ports, audit }, { mapping, types, checkedBinding }) {
    const database = await lockOrCreateDatabase(tx, caller.tenantId, readDatabasePlace(params))
    const name = readMappingName(params)
    const before = await findMapping(tx, database.id, name)
    checkConditions(request, before?.version ?? null)
    if (checkedBinding !== database.bindingVersion)
      fail('Conflict', { reason: 'The binding of the database changed meanwhile. Send the request again.' })
    const after = await store(tx, database, name, before, mapping)
    const former = before && (await ports.principals.find(caller.tenantId, [before.principalId]))
    audit({
      action,
      target: mappingTarget(database.place, after.name),
      before: before && renderMapping(before, database.place, former ?? new Map(), canonicalNamespace),
      after: renderMapping(after, database.place, types, canonicalNamespace),
    })
    const shown = renderMapping(after, database.place, types, namespaceOfRequest({ request, ports }))
    const tag = entityTag(after.version)
    const answer: Answer = before ? ok(shown, tag) : created(shown, tag)
    return withEnforcement(answer, database, ports, true)
  },
})

interface Prepared {
  readonly mapping: MappingProperties
  readonly types: ReadonlyMap<string, PrincipalType>
  /** The version of the binding in whose database the role was looked at. */
  readonly checkedBinding: number
}

async function store(
  tx: Query,
  { id }: DatabaseRow,
  name: string,
  before: Mapping | null,
  mapping: MappingProperties,
): Promise<Mapping> {
  const holder = await findMappingOf(tx, id, mapping)
  if (holder !== null && holder !== before?.name)
    fail('Conflict', {
      reason: `The principal has this role already, by the mapping '${holder}'. Change that one, or delete it first.`,
    })
  return before ? await updateMapping(tx, id, name, mapping) : await insertMapping(tx, id, name, mapping)
}
