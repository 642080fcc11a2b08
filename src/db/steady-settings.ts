/**
 * Settings that the owner of a database can give to every session in it (ALTER DATABASE … SET), and CREATEROLE before
 * PostgreSQL 16 to a role. Sent when a session starts, these take precedence: a masked role that owns the database must not
 * stop enforcement by making it read-only, by a role that its sessions begin with, or by a library that cannot be loaded.
 */
const steady: Readonly<Record<string, string>> = {
  role: 'none',
  local_preload_libraries: '',
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
}

/** For the options of a connection, in which a space ends a word. */
export const steadyOptions = Object.entries(steady)
  .map(([name, value]) => ` -c ${name}=${value.replaceAll(' ', '\\ ')}`)
  .join('')

/** The same for settings that servers do not know before PostgreSQL 14 or 17: such a server would refuse the session. */
const newer: Readonly<Record<string, string>> = {
  idle_session_timeout: '0',
  transaction_timeout: '0',
  restrict_nonsystem_relation_kind: '',
}

/** One statement for a session that has just begun. */
export const steadyStatement = Object.entries(newer)
  .map(
    ([name, value]) =>
      `select pg_catalog.set_config('${name}', '${value}', false) where pg_catalog.current_setting('${name}', true) is not null`,
  )
  .join(' union all ')
