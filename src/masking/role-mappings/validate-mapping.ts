import type { Query } from '../../db/query.ts'
import { type Detail, fail } from '../../kernel/problem.ts'
import { isUuid } from '../../kernel/uuid.ts'
import type { RoleExamination } from '../binding/bound-catalog.ts'
import { nearestNames } from '../binding/nearest-names.ts'
import type { DatabaseRow } from '../databases/database-row.ts'
import type { MaskingPorts, PrincipalType } from '../operation.ts'
import { selectRules } from '../rules/rule-row.ts'
import type { MappingInput } from './mapping.ts'
import type { MappingProperties } from './mapping-row.ts'

const longestRoleBytes = 63

interface Fault {
  readonly field: 'databaseRole' | 'principalId' | 'principalType'
  readonly reason: string
}

/** All that can be said about a mapping without its database. */
export async function validateMapping(
  input: MappingInput,
  tenantId: string,
  { principals }: MaskingPorts,
): Promise<{ mapping: MappingProperties; types: ReadonlyMap<string, PrincipalType> }> {
  const databaseRole = input.databaseRole ?? ''
  const principalId = (input.principalId ?? '').toLowerCase()
  const types = await principals.find(tenantId, isUuid(principalId) ? [principalId] : [])
  failOn([
    ...checkRole(databaseRole),
    ...checkPrincipal(principalId, input.principalType, types.get(principalId)),
  ])
  return { mapping: { databaseRole, principalId }, types }
}

/** A database that cannot be reached does not stop the mapping: it is held against the database before it counts. */
export async function checkAgainstDatabase(
  { databaseRole }: MappingProperties,
  database: DatabaseRow,
  tx: Query,
  { catalogs }: MaskingPorts,
): Promise<void> {
  const rules = await selectRules(tx, database.id)
  const tables = rules.map(({ schemaName, tableName }) => ({ schema: schemaName, table: tableName }))
  const reached = await catalogs.examineRole(database, databaseRole, tables)
  if ('value' in reached) failOn(findFaults(databaseRole, reached.value))
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
  const nearest = nearestNames(role, others)
  const hint = nearest.length > 0 ? `; did you mean ${nearest.map((name) => `'${name}'`).join(' or ')}?` : ''
  return [{ field: 'databaseRole', reason: `names no role of the bound database: '${role}'${hint}` }]
}

function failOn(faults: readonly Fault[]): void {
  if (faults.length === 0) return
  const details = faults.map(
    ({ field, reason }): Detail => ({
      code: 'InvalidValue',
      message: `'properties.${field}' ${reason.replace(/([^.;?])$/, '$1.')}`,
      target: `properties.${field}`,
    }),
  )
  fail(
    'InvalidRoleMapping',
    { reason: details.map(({ message }) => message).join(' ') },
    { target: details[0]?.target ?? '', details },
  )
}
