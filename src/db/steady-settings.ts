import { codeOf, sqlstate } from '../kernel/sqlstate.ts'

/**
 * Settings that the owner of a database can give to every session in it (ALTER DATABASE … SET), and CREATEROLE before
 * PostgreSQL 16 to a role. Sent when a session starts, these take precedence: a masked role that owns the database must not
 * stop enforcement by making it read-only, by a role that its sessions begin with, by a library that cannot be loaded, or
 * by limits that end a session before its first statement.
 */
const steady: Readonly<Record<string, string>> = {
  role: 'none',
  local_preload_libraries: '',
  exit_on_error: 'off',
  default_transaction_read_only: 'off',
  default_transaction_isolation: 'read committed',
  default_transaction_deferrable: 'off',
  default_tablespace: '',
  default_table_access_method: 'heap',
  lock_timeout: '0',
  row_security: 'on',
  array_nulls: 'on',
  bytea_output: 'hex',
  jit: 'off',
  // Unknown before PostgreSQL 14, 17 and their minor releases of 2024.
  idle_session_timeout: '0',
  transaction_timeout: '0',
  restrict_nonsystem_relation_kind: '',
}

const writeOption = (name: string, value: string) => ` -c ${name}=${value.replaceAll(' ', '\\ ')}`

/** For the options of a connection, in which a space ends a word. */
export const steadyOptions = Object.entries(steady)
  .map(([name, value]) => writeOption(name, value))
  .join('')

/** The options without a setting that the server does not know and refused the session for; null: it was something else. */
export function withoutUnknown(options: string, error: unknown): string | null {
  if (codeOf(error) !== sqlstate.undefinedObject || !(error instanceof Error)) return null
  // The message may be in any language.
  const name = Object.keys(steady).find((one) => error.message.includes(one)) ?? ''
  const option = writeOption(name, steady[name] ?? '')
  return options.includes(option) ? options.replace(option, '') : null
}

/** One statement for a session that has just begun: everything else that the database or the role sets is reset. */
export const steadyStatement = `select pg_catalog.set_config(name, boot_val, false) from pg_catalog.pg_settings
  where source in ('database', 'user', 'database user') and context = 'user' and boot_val is not null`
