import { nearestNames } from '../../kernel/nearest-names.ts'
import { isUuid } from '../../kernel/uuid.ts'
import type { RoleExamination } from '../binding/bound-catalog.ts'
import type { DatabaseRow } from '../databases/database-row.ts'
import { type Fault, failOn, suggest } from '../faults.ts'
import type { PrincipalType } from '../operation.ts'
import type { Site } from '../resource.ts'
import { ruleRows } from '../rules/rule.ts'
import type { MappingInput, MappingProperties } from './mapping.ts'

const longestRoleBytes = 63

/** All that can be said about a mapping without its database. */
export async function validateMapping(
  input: MappingInput,
  { tx, tenantId, ports }: Site,
): Promise<MappingProperties> {
  const databaseRole = input.databaseRole ?? ''
  const principalId = (input.principalId ?? '').toLowerCase()
  const types = await ports.principals.find(tx, tenantId, isUuid(principalId) ? [principalId] : [])
  failOn('InvalidRoleMapping', [
    ...checkRole(databaseRole),
    ...checkPrincipal(principalId, input.principalType, types.get(principalId)),
  ])
  return { databaseRole, principalId }
}

/** A database that cannot be reached does not stop the mapping: it is held against the database before it counts. */
export async function checkAgainstDatabase(
  { databaseRole }: MappingProperties,
  database: DatabaseRow,
  { tx, ports }: Site,
): Promise<void> {
  const rules = await ruleRows.list(tx, database.id)
  const tables = rules.map(({ schemaName, tableName }) => ({ schema: schemaName, table: tableName }))
  const reached = await ports.catalogs.examineRole(database, databaseRole, tables)
  if ('value' in reached) failOn('InvalidRoleMapping', findFaults(databaseRole, reached.value))
}

function checkRole(role: string): Fault[] {
  const reason =
    role === ''
      ? 'is required'
      : role.includes('\0') || !role.isWellFormed()
        ? 'must be well-formed Unicode without the character U+0000'
        : Buffer.byteLength(role) > longestRoleBytes
          ? `has more than ${longestRoleBytes} bytes: PostgreSQL has no such name`
          : undefined
  return reason === undefined ? [] : [{ field: 'databaseRole', reason }]
}

function checkPrincipal(
  id: string,
  sentType: string | null | undefined,
  type: PrincipalType | undefined,
): Fault[] {
  if (id === '') return [{ field: 'principalId', reason: 'is required' }]
  if (type === undefined)
    return [{ field: 'principalId', reason: 'names no user, group or service principal of the directory' }]
  if (sentType && sentType !== type)
    return [{ field: 'principalType', reason: `is ${type} for that principal` }]
  return []
}

function findFaults(role: string, { exists, others, objections }: RoleExamination): Fault[] {
  if (exists)
    return objections.map(({ message, statements }) => ({
      field: 'databaseRole',
      reason: `cannot be mapped. ${message}${statements.map((each) => ` Run: ${each};`).join('')}`,
    }))
  const hint = suggest(nearestNames(role, others))
  return [{ field: 'databaseRole', reason: `names no role of the bound database: '${role}'${hint}` }]
}
