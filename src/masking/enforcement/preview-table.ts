import { type Static, Type } from 'typebox'
import { ok } from '../../api/operation.ts'
import { fail } from '../../kernel/problem.ts'
import { type DatabaseRow, findDatabase } from '../databases/database-row.ts'
import { apiVersions, type MaskingPorts, operation, withEnforcement } from '../operation.ts'
import { policyPath, readDatabasePlace, scopeOf } from '../place.ts'
import { splitEntries } from '../policy/exempt-entries.ts'
import { checkAgainstCatalog } from '../rules/create-or-update-rule.ts'
import { ruleInput, ruleRows } from '../rules/rule.ts'
import { columnFields, maskFields, pick, type RuleProperties } from '../rules/rule-fields.ts'
import { validateRule } from '../rules/validate-rule.ts'
import { nullableString, strict } from '../schemas.ts'
import { asColumnPlace, type PreviewRequest } from './inspection.ts'

const mostRows = 50
const usualRows = 10

const previewInput = Type.Object(
  {
    schemaName: Type.String({ minLength: 1, maxLength: 128 }),
    tableName: Type.String({ minLength: 1, maxLength: 128 }),
    rule: Type.Optional(ruleInput.properties.properties),
    top: Type.Optional(Type.Integer({ minimum: 1, maximum: mostRows })),
  },
  strict,
)

const values = Type.Array(nullableString)

const previewAnswer = Type.Object({
  columns: Type.Array(
    Type.Object({ name: Type.String(), type: Type.String(), maskingFunction: nullableString }),
  ),
  rows: Type.Array(
    Type.Object({
      values,
      raw: Type.Optional(Type.Unsafe<string[]>({ ...values, description: 'For exempt callers alone' })),
    }),
  ),
})

export const previewTable = operation({
  name: 'previewTable',
  clause: 'MASK-112',
  summary:
    'Show some rows of a table as those see it who are not exempt, with a rule that is not saved yet if wanted',
  method: 'POST',
  reads: true,
  path: `${policyPath}/preview`,
  apiVersions,
  // The preview shows rows of people's data: the permission to read policies is not enough.
  permission: { action: 'Vendor.Sql/servers/databases/dataMaskingPolicies/preview/action', scope: scopeOf },
  body: previewInput,
  answers: { 200: previewAnswer },

  async run({ params, body, caller, tx, ports }) {
    const database = await findDatabase(tx, caller.tenantId, readDatabasePlace(params))
    if (!database?.bound) fail('InvalidPreview', { reason: 'the database is not bound to a PostgreSQL' })
    const draft = body.rule && (await readDraft(body, database, ports))
    const saved = await ruleRows.list(tx, database.id)
    const rules = draft ? [...saved.filter((rule) => !isSameColumn(rule, draft)), draft] : saved
    const entries = splitEntries(database.exemptPrincipals)
    const shown = await ports.inspection.preview(database.id, {
      schema: body.schemaName,
      table: body.tableName,
      rules: rules.map(asMask),
      top: body.top ?? usualRows,
      raw: await ports.principals.isExempt(caller.tenantId, caller.objectId, entries),
    })
    if (!shown)
      fail('InvalidPreview', {
        reason: `${body.schemaName}.${body.tableName} is not a table of the bound database`,
      })
    return withEnforcement(ok(shown), database, ports, false)
  },
})

type Named = RuleProperties & { readonly name: string }

/** A rule as it would be stored, for the table that is previewed. */
async function readDraft(
  { schemaName, tableName, rule }: Static<typeof previewInput>,
  database: DatabaseRow,
  ports: MaskingPorts,
): Promise<Named> {
  const draft = validateRule({ ...rule, schemaName, tableName })
  await checkAgainstCatalog(draft, database, ports)
  return { ...draft, name: '' }
}

function isSameColumn(one: RuleProperties, other: RuleProperties): boolean {
  return columnFields.every((field) => one[field] === other[field])
}

function asMask(rule: Named): PreviewRequest['rules'][number] {
  const { name, maskingFunction } = rule
  return { name, maskingFunction, ...pick(rule, maskFields), ...asColumnPlace(rule) }
}
