import type { Query } from '../../db/query.ts'
import { fold } from '../place.ts'
import type { Rule, RuleProperties } from './rule.ts'

const columns = (tx: Query) => tx`
  name, schema_name as "schemaName", table_name as "tableName", column_name as "columnName",
  masking_function as "maskingFunction", alias_name as "aliasName", number_from as "numberFrom",
  number_to as "numberTo", prefix_size as "prefixSize", suffix_size as "suffixSize",
  replacement_string as "replacementString", version`

export async function findRule(tx: Query, databaseId: string, name: string): Promise<Rule | null> {
  const [rule] = await tx<Rule[]>`
    select ${columns(tx)} from masking_rule where database_id = ${databaseId} and key = ${fold(name)}`
  return rule ?? null
}

/** In the order of the unique constraint on the column, whose index serves it. */
export async function selectRules(tx: Query, databaseId: string): Promise<Rule[]> {
  return await tx<Rule[]>`
    select ${columns(tx)} from masking_rule where database_id = ${databaseId}
    order by schema_name, table_name, column_name`
}

type Column = Pick<RuleProperties, 'schemaName' | 'tableName' | 'columnName'>

/** The name of the rule that the column has. */
export async function findRuleOfColumn(
  tx: Query,
  databaseId: string,
  { schemaName, tableName, columnName }: Column,
): Promise<string | null> {
  const [rule] = await tx<{ name: string }[]>`
    select name from masking_rule where database_id = ${databaseId}
      and schema_name = ${schemaName} and table_name = ${tableName} and column_name = ${columnName}`
  return rule?.name ?? null
}

export async function insertRule(
  tx: Query,
  databaseId: string,
  name: string,
  rule: RuleProperties,
): Promise<Rule> {
  const [stored] = await tx<Rule[]>`
    insert into masking_rule (database_id, key, name, schema_name, table_name, column_name, masking_function,
      alias_name, number_from, number_to, prefix_size, suffix_size, replacement_string)
    values (${databaseId}, ${fold(name)}, ${name}, ${rule.schemaName}, ${rule.tableName}, ${rule.columnName},
      ${rule.maskingFunction}, ${rule.aliasName}, ${rule.numberFrom}, ${rule.numberTo}, ${rule.prefixSize},
      ${rule.suffixSize}, ${rule.replacementString})
    returning ${columns(tx)}`
  if (!stored) throw new Error('an inserted rule was not returned')
  return stored
}

export async function updateRule(
  tx: Query,
  databaseId: string,
  name: string,
  rule: RuleProperties,
): Promise<Rule> {
  const [stored] = await tx<Rule[]>`
    update masking_rule set schema_name = ${rule.schemaName}, table_name = ${rule.tableName},
      column_name = ${rule.columnName}, masking_function = ${rule.maskingFunction}, alias_name = ${rule.aliasName},
      number_from = ${rule.numberFrom}, number_to = ${rule.numberTo}, prefix_size = ${rule.prefixSize},
      suffix_size = ${rule.suffixSize}, replacement_string = ${rule.replacementString}, updated_at = now(),
      version = nextval('resource_version')
    where database_id = ${databaseId} and key = ${fold(name)}
    returning ${columns(tx)}`
  if (!stored) throw new Error('an updated rule was not returned')
  return stored
}

export async function removeRule(tx: Query, databaseId: string, name: string): Promise<void> {
  await tx`delete from masking_rule where database_id = ${databaseId} and key = ${fold(name)}`
}
