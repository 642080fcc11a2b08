import type { SourceFile } from './tree.ts'

/** The room that owns each table of `sql/schema.sql`: SQL that names a table stands in its owner alone. */
export const owners: Readonly<Record<string, readonly string[]>> = {
  db: [
    'audit_event',
    'change_log',
    'directory_write',
    'instance',
    'masquerade_migration',
    'node',
    'revision_counter',
  ],
  auth: ['request_allowance', 'signing_key'],
  issuer: ['oidc_state', 'sign_in_attempt'],
  directory: [
    'app_role_assignment',
    'application_permission',
    'application_secret',
    'change_subscription',
    'delegated_permission',
    'directory_object',
    'extension_property',
    'first_start',
    'item',
    'manager_edge',
    'member_edge',
    'open_extension',
    'owner_edge',
    'purged_client',
    'schema_extension',
    'shut_out_client',
    'sign_in',
    'token_cutoff',
    'user_password',
  ],
  masking: [
    'containment_look',
    'counted_finding',
    'database_credential',
    'enforcement_state',
    'exempt_role',
    'found_exposure',
    'gateway_name',
    'masked_database',
    'masked_place',
    'masking_rule',
    'reached_place',
    'role_assignment',
    'role_mapping',
    'server',
    'suspension',
  ],
}

export function listTables(schema: string): string[] {
  return [...schema.matchAll(/^create (?:unlogged )?table (\w+)/gm)].map((match) => match[1] ?? '')
}

/** Each place where a room of src/ names a table that another room owns. */
export function findForeignSql(files: readonly SourceFile[]): string[] {
  return files.flatMap(({ path, text }) => {
    const room = path.split('/')[1] ?? ''
    const code = withoutComments(text)
    return Object.entries(owners)
      .filter(([owner]) => owner !== room)
      .flatMap(([owner, tables]) =>
        tables
          .filter((table) => patternOf(table).test(code))
          .map((table) => `${path} names the table '${table}', which ${owner} owns`),
      )
  })
}

/** A name of one word is a table's only behind a keyword of SQL; one with an underscore has no other meaning. */
function patternOf(table: string): RegExp {
  return table.includes('_')
    ? new RegExp(`(?<![\\w.'"-])(?:masquerade\\.)?${table}\\b|['"]${table}['"]`)
    : new RegExp(
        `\\b(?:from|join|into|update|table)\\s+(?:only\\s+)?(?:masquerade\\.)?${table}\\b(?!\\s*['"])`,
      )
}

function withoutComments(text: string): string {
  return text.replaceAll(/\/\*[\s\S]*?\*\//g, '').replaceAll(/^\s*\/\/.*$/gm, '')
}
