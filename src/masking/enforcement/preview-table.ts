import { type Static, Type } from 'typebox'
import { ok } from '../../api/operation.ts'
import type { PreviewRequest } from '../../contracts/inspection.ts'
import { fail } from '../../kernel/problem.ts'
import { type DatabaseRow, findDatabase } from '../databases/database-row.ts'
import { apiVersions, type MaskingPorts, operation, withEnforcement } from '../operation.ts'
import { policyPath, readDatabasePlace, scopeOf } from '../place.ts'
import { splitEntries } from '../policy/exempt-entries.ts'
import { checkAgainstCatalog } from '../rules/create-or-update-rule.ts'
import { ruleInput, ruleRows } from '../rules/rule.ts'
import { maskFields, pick, type RuleProperties } from '../rules/rule-fields.ts'
import { validateRule } from '../rules/validate-rule.ts'
import { nullableString, strict } from '../schemas.ts'
import { reportOf, stateField } from './enforcement.ts'
import { asColumnPlace, lookInto, type Mask } from './inspection.ts'

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

const previewAnswer = Type.Object(
  {
    masks: Type.Object({
      state: stateField,
      areInForce: Type.Boolean({
        description: 'False: `values` are what masks would show, and roles may read raw values',
      }),
      reason: nullableString,
    }),
    columns: Type.Array(
      Type.Object({
        name: Type.String(),
        type: Type.String(),
        maskingFunction: nullableString,
        isDraft: Type.Boolean({ description: 'The mask is not stored' }),
      }),
    ),
    rows: Type.Array(
      Type.Object({
        values,
        raw: Type.Optional(Type.Unsafe<string[]>({ ...values, description: 'For exempt callers alone' })),
      }),
    ),
  },
  { title: 'preview' },
)

export const previewTable = operation({
  name: 'previewTable',
  clause: 'MASK-112',
  summary:
    'Show some rows of a table under its masks, and whether these are in force; also under a rule that is not saved',
  method: 'POST',
  reads: true,
  path: `${policyPath}/preview`,
  apiVersions,
  // The preview shows rows of people's data: the permission to read policies is not enough.
  permission: { action: 'Vendor.Sql/servers/databases/dataMaskingPolicies/preview/action', scope: scopeOf },
  body: previewInput,
  answers: { 200: previewAnswer },

  async run({ params, body, caller, tx, audit, ports, confirm }) {
    const find = () => findDatabase(tx, caller.tenantId, readDatabasePlace(params))
    const database = await find()
    if (!database?.bound) fail('InvalidPreview', { reason: 'the database is not bound to a PostgreSQL' })
    const draft = body.rule && (await readDraft(body, database, ports))
    const top = body.top ?? usualRows
    let asked: PreviewRequest<Mask> | undefined
    const admit = async (): Promise<PreviewRequest<Mask>> => {
      await confirm()
      // The policy and the groups of the caller change while the look waits.
      const entries = splitEntries((await find())?.exemptPrincipals ?? '')
      const raw = await ports.principals.isExempt(tx, caller.tenantId, caller.objectId, entries)
      if (asked?.raw && !raw) fail('ExemptionRevokedMeanwhile')
      asked ??= {
        schema: body.schemaName,
        table: body.tableName,
        rules: (await ruleRows.list(tx, database.id)).map(asMask),
        draft: draft && asMask(draft),
        top,
        raw,
      }
      return asked
    }
    const shown = await ports.inspection.preview(lookInto(database, admit))
    if (shown === 'draftRefused') return fail('DraftNeedsExemption', {}, { target: 'rule' })
    if (!shown)
      fail('InvalidPreview', {
        reason: `${body.schemaName}.${body.tableName} is not a table of the bound database`,
      })
    const { schemaName, tableName, rule } = body
    const after = { schemaName, tableName, top, raw: asked?.raw, ...(rule && { rule }) }
    audit({ action: 'previewTable', target: scopeOf(params), after })
    const { state, reason } = await reportOf(database, ports.enforcement)
    const masks = { state, areInForce: state === 'Enforced', reason }
    return withEnforcement(ok({ masks, ...shown }), database, ports, false)
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

function asMask(rule: Named): Mask {
  const { name, maskingFunction } = rule
  return { name, maskingFunction, ...pick(rule, maskFields), ...asColumnPlace(rule) }
}
