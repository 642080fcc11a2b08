import type { Capability, ClauseId } from '../attack.ts'

/**
 * What a role does, and leaves open, while an exemption is withdrawn. `{T}` is a table of the case's own, `{V}` its
 * twin, `{L}` a schema of the role's own. `;;` parts statements, each of which succeeds.
 */
export interface Stall {
  readonly id: string
  readonly capability: Capability
  readonly clauses: readonly ClauseId[]
  readonly run: string
  /** Goes on and on, without an answer that is waited for. */
  readonly endless: string | undefined
}

type Row = string | { readonly run: string; readonly endless: string }

function stalls(
  clauses: readonly [ClauseId, ...ClauseId[]],
  rows: Readonly<Record<string, Row>>,
): readonly Stall[] {
  return Object.entries(rows).map(([id, row]) => ({
    ...{ id, capability: 'contained', clauses },
    ...(typeof row === 'string' ? { run: row, endless: undefined } : row),
  }))
}

export const locks = stalls(['ENF-73'], {
  'ACCESS EXCLUSIVE': 'begin;; lock table {T} in access exclusive mode',
  SHARE: 'begin;; lock table {T} in share mode',
  'SHARE ROW EXCLUSIVE': 'begin;; lock table {T} in share row exclusive mode',
  'ROW EXCLUSIVE': 'begin;; update {T} set id = id',
  'FOR UPDATE': 'begin;; select id from {T} for update',
  'FOR KEY SHARE': 'begin;; select id from {T} for key share',
  'a read of the table': 'begin;; select id from {T}',
  'a read of the twin': 'begin;; select mail from {V}',
  'a cursor over the twin': 'begin;; declare c cursor for select mail from {V};; fetch c',
  'a cursor with hold': 'begin;; declare c cursor with hold for select mail from {V};; commit',
  'a lock of the twin': 'begin;; lock table {V} in access share mode',
  'a subtransaction': 'begin;; savepoint a;; lock table {T} in access exclusive mode;; savepoint b',
  'a failed transaction': 'begin;; lock table {T} in access exclusive mode;; savepoint a;; select 1',
  'a view of one’s own, with a lock': `create view {L}.{N} as select id from {T};; begin;;
    lock table {L}.{N} in access exclusive mode`,
  'a view that is not committed': 'begin;; create view {L}.{N} as select id, mail from {V}',
  'a materialized view that is not committed':
    'begin;; create materialized view {L}.{N} as select id from {T}',
  'a copy that is not committed': 'begin;; create table {L}.{N} as select mail from {V}',
  'a table like it that is not committed': 'begin;; create table {L}.{N} (like {V})',
  'a serializable transaction':
    'begin isolation level serializable;; select id from {T};; update {T} set id = id',
  'a query that does not end': { run: 'select 1', endless: 'select id, pg_sleep(600) from {T}' },
  'a lock and a query': {
    run: 'begin;; lock table {T} in access exclusive mode',
    endless: 'select pg_sleep(600)',
  },
  'COPY FROM that waits for rows': { run: 'begin;; select 1', endless: 'copy {T} (id) from stdin' },
  'a block that takes the lock again and again': {
    run: 'select 1',
    endless: `do $$ begin loop lock table {T} in access exclusive mode; perform pg_sleep(0.3); commit; end loop;
    end $$`,
  },
  'a block that catches being cancelled': {
    run: 'begin;; lock table {T} in access exclusive mode',
    endless: `do $$ begin loop begin perform pg_sleep(600); exception when query_canceled then null; end; end loop;
    end $$`,
  },
  'a session without limits': `set statement_timeout = 0;; set idle_in_transaction_session_timeout = 0;;
    begin;; lock table {T} in access exclusive mode`,
  'locks on catalogs': `begin;; lock table pg_class in access share mode;; lock table pg_roles in access share mode;;
    select count(*) from pg_auth_members`,
  'a role that changes itself': `begin;; alter role current_user set search_path = x`,
  'default privileges that are not committed':
    'begin;; alter default privileges grant select on tables to public',
  'a schema of one’s own that is not committed': 'begin;; create schema authorization current_user',
  'a type that is not committed': 'begin;; create type {L}.{N} as (c {T})',
  'a function that is not committed':
    'begin;; create function {L}.{N}({T}) returns int language sql as $$ select 1 $$',
  'a grant of what is one’s own': `create table {L}.{N} (id int);; begin;; grant select on {L}.{N} to public`,
})

export const harmless = stalls(['ENF-10'], {
  'the advisory lock of the controller':
    'begin;; select pg_advisory_xact_lock(7208951144);; select id from {T}',
  'every advisory lock of a small number': 'select pg_advisory_lock(n) from generate_series(0, 300) n',
  'advisory locks of two numbers': 'select pg_advisory_lock(n, n) from generate_series(0, 300) n',
  'shared advisory locks':
    'begin;; select pg_advisory_xact_lock_shared(n, 1000) from generate_series(-300, 300) n',
})

const takeAll = (what: string) =>
  `do $$ begin perform ${what} from generate_series(1, 10000000) n; exception when out_of_memory then null; end $$`

/** Every lock of the server. No other session can begin then, so they have a server of their own. */
export const hoards = stalls(['ENF-143'], {
  'all advisory locks': takeAll('pg_advisory_lock(n)'),
  'all advisory locks, by a role that has just changed': `alter role current_user password 'secret';;
    ${takeAll('pg_advisory_lock(n)')}`,
  'all advisory locks in a transaction': `begin;; ${takeAll('pg_advisory_lock(n)')}`,
  'every lock that becomes free': {
    run: takeAll('pg_advisory_lock_shared(n)'),
    endless: `do $$ declare n int := 0; begin loop n := n + 1; begin perform pg_advisory_lock(n, n);
      exception when out_of_memory then null; end; end loop; end $$`,
  },
})
