const objects = ['query', 'table', 'schema', 'database', 'cursor']
const forms = ['to_xml', 'to_xmlschema', 'to_xml_and_xmlschema']

/** Functions that run or read the text in an argument, with the privileges of their caller. */
export const textRunners: ReadonlySet<string> = new Set([
  ...objects.flatMap((object) => forms.map((form) => `${object}_${form}`)),
  ...['ts_stat', 'ts_rewrite', 'dblink', 'dblink_exec', 'dblink_open', 'dblink_send_query'],
  ...['dblink_build_sql_insert', 'dblink_build_sql_update', 'dblink_build_sql_delete'],
  ...['crosstab', 'crosstab2', 'crosstab3', 'crosstab4', 'crosstabn', 'connectby', 'xpath_table'],
])

/** Temporary functions and operators count as such: they are the session's own, and go by no other name. */
export function runsText(name: readonly string[]): boolean {
  return textRunners.has(name.at(-1) ?? '') || /^pg_temp(_|$)/.test(name.at(-2) ?? '')
}
