/** One situation, and the one reason that it gives a role. `$clerk` and the like are roles of the test's own. */
export interface ContainmentCase {
  readonly clause: string
  readonly what: string
  /** With their options; `clerk` has LOGIN unless it is named here. */
  readonly roles?: Readonly<Record<string, string>>
  readonly setup: string
  /** The role that has the reason, unless `clerk`. */
  readonly as?: string
  /** Null: the role stays contained. */
  readonly kind: 'attribute' | 'membership' | 'ownership' | 'code' | 'privilege' | 'server' | null
  readonly text?: RegExp
  /** The role through which the reason holds. */
  readonly via?: string
  /** The binding is no superuser. */
  readonly plainBinding?: true
  /** Other relations that rules name. */
  readonly masked?: readonly string[]
  readonly from?: number
  readonly below?: number
}

type Row = Partial<ContainmentCase> & Pick<ContainmentCase, 'setup'>

const cases = (
  clause: string,
  kind: ContainmentCase['kind'],
  rows: Readonly<Record<string, Row>>,
): readonly ContainmentCase[] => Object.entries(rows).map(([what, row]) => ({ clause, what, kind, ...row }))

const inRole = (role: string, more: Partial<ContainmentCase> = {}) =>
  cases('ENF-541', 'attribute', {
    [`is in ${role}`]: {
      setup: `grant ${role} to $clerk`,
      text: new RegExp(`^is in ${role}, and`),
      ...more,
    },
  })

const makeFunction = (name: string, body: string) =>
  `create function ${name} immutable language sql as '${body}';
   alter function ${name.split(' returns')[0]} owner to $clerk`

export const containmentCases: readonly ContainmentCase[] = [
  ...cases('ENF-540', null, {
    'TEMP, CREATE, writes, LOCK, and own objects over a twin': {
      setup: `grant temp, create on database @database to $clerk; grant all on schema own to $clerk;
        grant insert, update, delete, truncate on public.person to $clerk; grant select (id) on public.person to $clerk;
        create table own.orders (person int references public.person); alter table own.orders owner to $clerk;
        grant select on public.person to $twins; create view public.twin as select id from public.person;
        alter view public.twin owner to $twins;
        create materialized view own.copy as select * from public.twin; alter materialized view own.copy owner to $clerk;
        create function own.peek() returns text language sql as 'select email from public.person';
        alter function own.peek() owner to $clerk`,
    },
    'CREATEROLE since 16, CREATEDB and BYPASSRLS': {
      roles: { clerk: 'LOGIN CREATEROLE CREATEDB BYPASSRLS' },
      setup: 'select 1',
      from: 160000,
    },
    'pg_signal_backend beside a superuser as binding': { setup: 'grant pg_signal_backend to $clerk' },
    'a trusted extension that masked relations do not use': {
      setup:
        'grant create on database @database to $clerk; set role $clerk; create extension citext; reset role',
    },
    'settings that do no harm': {
      setup: 'grant set on parameter log_min_duration_statement to $clerk',
      from: 150000,
    },
  }),
  ...cases('ENF-541', 'attribute', {
    'is a superuser': { roles: { clerk: 'LOGIN SUPERUSER' }, setup: 'select 1', text: /^is a superuser/ },
    'has REPLICATION': {
      roles: { clerk: 'NOLOGIN REPLICATION' },
      setup: 'select 1',
      text: /^has REPLICATION/,
    },
    'has CREATEROLE before 16': {
      roles: { clerk: 'LOGIN CREATEROLE' },
      setup: 'select 1',
      text: /^has CREATEROLE/,
      below: 160000,
    },
  }),
  ...inRole('pg_read_all_data'),
  ...inRole('pg_write_all_data'),
  ...inRole('pg_read_server_files'),
  ...inRole('pg_write_server_files'),
  ...inRole('pg_execute_server_program'),
  ...inRole('pg_maintain', { from: 170000 }),
  ...inRole('pg_read_all_stats'),
  ...inRole('pg_monitor', { text: /^is in pg_read_all_stats/, via: 'pg_monitor' }),
  ...inRole('pg_signal_backend', { plainBinding: true }),
  ...cases('ENF-542', 'membership', {
    'has ADMIN alone on an exempt role': {
      setup: 'grant $auditor to $clerk with admin true, inherit false, set false',
      text: /which the policy exempts/,
      from: 160000,
    },
    'is in the role of the binding': {
      plainBinding: true,
      setup: 'grant $binder to $clerk',
      text: /the role of the binding$/,
    },
    'is in the owner of a masked relation': {
      roles: { owner: 'NOLOGIN' },
      setup: 'alter table public.person owner to $owner; grant $owner to $clerk',
      text: /owner_\w+, which owns masked relations$/,
    },
    'is in an owner of twins': { setup: 'grant $twins to $clerk', text: /which owns masked twins$/ },
  }),
  ...cases('ENF-543', 'ownership', {
    'owns the database': {
      setup: 'alter database @database owner to $clerk',
      text: /^owns the database test_/,
    },
    'owns a masked relation': {
      setup: 'alter table public.person owner to $clerk',
      text: /^owns masked relations: public\.person$/,
    },
    'owns the schema of one': {
      setup: 'alter schema public owner to $clerk',
      text: /^owns the schema of masked relations: public$/,
    },
    'owns a partition': {
      masked: ['public.visit'],
      setup: `create table public.visit (id int, note text) partition by list (id);
        create table public.visit1 partition of public.visit for values in (1);
        alter table public.visit1 owner to $clerk`,
      text: /public\.visit1$/,
    },
    'owns a parent': {
      setup: `create table public.being (id int); alter table public.person inherit public.being;
        alter table public.being owner to $clerk`,
      text: /public\.being$/,
    },
    'owns a filled materialized view over a view of it': {
      setup: `create view public.seen as select * from public.person;
        create materialized view own."Copy" as select * from public.seen;
        alter materialized view own."Copy" owner to $clerk`,
      text: /^owns filled copies of masked relations: own\."Copy"$/,
    },
  }),
  ...cases('ENF-544', 'code', {
    'owns a function of a check': {
      setup: `${makeFunction('own.fits(text) returns bool', 'select true')};
        alter table public.person add check (own.fits(email))`,
      text: /^owns own\.fits\(.*text\), on which table public\.person depends$/,
    },
    'owns the domain of a column': {
      setup: `create domain own.mail as text; alter domain own.mail owner to $clerk;
        alter table public.person add other own.mail`,
      text: /^owns own\.mail, on which table public\.person depends$/,
    },
    "owns the function of another contained role's domain": {
      roles: { other: 'LOGIN', clerk: 'LOGIN' },
      setup: `${makeFunction('own.fits(text) returns bool', 'select true')};
        create domain own.mail as text check (own.fits(value)); alter domain own.mail owner to $other;
        alter table public.person add other own.mail`,
      text: /^owns own\.fits/,
    },
    'owns an operator of a view of an exempt role': {
      setup: `create operator own.=== (function = texteq, leftarg = text, rightarg = text);
        alter operator own.===(text, text) owner to $clerk;
        create view own.seen as select 'a' operator(own.===) 'b'; alter view own.seen owner to $auditor`,
      text: /^owns own\.===\(.*\), on which view own\.seen depends$/,
    },
    'owns a table that a view of a member of an exempt role reads': {
      roles: { clerk: 'LOGIN', helper: 'LOGIN' },
      setup: `create table own.notes (text text); alter table own.notes owner to $clerk; grant $auditor to $helper;
        create view own.seen as select * from own.notes; alter view own.seen owner to $helper`,
      text: /^owns own\.notes, on which view own\.seen depends$/,
    },
    'owns a partition of a table of an exempt role': {
      setup: `create table public.line (a int) partition by list (a); alter table public.line owner to $auditor;
        create table own.part partition of public.line for values in (1); alter table own.part owner to $clerk`,
      text: /^owns own\.part, on which table public\.line depends$/,
    },
    'owns a table that a subscription of a superuser writes as this': {
      setup: `create table own.box (a int); alter table own.box owner to $clerk;
        create subscription inbound connection 'dbname=nowhere' publication p with (connect = false, slot_name = none);
        do $$ begin if current_setting('server_version_num')::int >= 160000 then
          alter subscription inbound set (run_as_owner = true); end if; end $$;
        insert into pg_subscription_rel select s.oid, 'own.box'::regclass, 'r', null from pg_subscription s
          where s.subname = 'inbound' and s.subdbid = (select oid from pg_database where datname = current_database())`,
      text: /^owns own\.box, on which subscription inbound depends$/,
    },
    'owns a relation that a masked one refers to': {
      setup: `create table own.land (id int primary key); alter table own.land owner to $clerk;
        alter table public.person add land int references own.land`,
      text: /^owns own\.land, on which table public\.person depends$/,
    },
    'owns an extension of which a column is': {
      setup: `grant create on database @database to $clerk; set role $clerk; create extension citext; reset role;
        alter table public.person add nick citext`,
      text: /^owns citext, on which table public\.person depends$/,
    },
    'owns the function of an event trigger': {
      setup: `create function own.hear() returns event_trigger language plpgsql as 'begin end';
        alter function own.hear() owner to $clerk;
        create event trigger hear on ddl_command_end execute function own.hear(); alter event trigger hear disable`,
      text: /^owns own\.hear\(\), on which event trigger hear depends$/,
    },
  }),
  ...cases('ENF-545', 'privilege', {
    'has TRIGGER on a masked table': {
      setup: 'grant trigger on public.person to $clerk',
      text: /^has TRIGGER on .*: public\.person$/,
    },
    'has REFERENCES on a column': {
      setup: 'grant references (id) on public.person to $clerk',
      text: /^has REFERENCES on/,
    },
    'has TRIGGER by the grant of an exempt role': {
      setup: `grant trigger on public.person to $auditor with grant option; set role $auditor;
        grant trigger on public.person to $clerk; reset role`,
      text: /^has TRIGGER on/,
    },
    'has a grant option': {
      setup: 'grant insert on public.person to $clerk with grant option',
      text: /^has grant options on masked relations: public\.person$/,
    },
  }),
  ...cases('ENF-546', 'server', {
    'may set a setting that loads a library': {
      setup: 'grant set on parameter session_preload_libraries to $clerk',
      text: /: session_preload_libraries$/,
      from: 150000,
    },
    'may ALTER SYSTEM a setting that runs a command': {
      setup: 'grant alter system on parameter archive_command to $clerk',
      text: /: archive_command$/,
      from: 150000,
    },
    'may have statements fire no triggers': {
      setup: 'grant set on parameter session_replication_role to $clerk',
      text: /: session_replication_role$/,
      from: 150000,
    },
    'may read files of the server': {
      setup: 'grant execute on function pg_read_file(text) to $clerk',
      text: /: pg_read_file\(text\)$/,
    },
    'has USAGE on the server of a masked foreign table': {
      masked: ['public.far'],
      setup: `create foreign data wrapper none; create server away foreign data wrapper none;
        create foreign table public.far (secret text) server away; grant usage on foreign server away to $clerk`,
      text: /^has USAGE on the server .*: away$/,
    },
    'owns the server of a masked foreign table': {
      masked: ['public.far'],
      setup: `create foreign data wrapper none; create server away foreign data wrapper none;
        create foreign table public.far (secret text) server away; grant usage on foreign data wrapper none to $clerk;
        alter server away owner to $clerk`,
      text: /^owns the server .*: away$/,
    },
  }),
  ...cases('ENF-547', null, {
    'a superuser, two memberships away': {
      kind: 'attribute',
      roles: { boss: 'NOLOGIN SUPERUSER', group: 'NOLOGIN' },
      setup: 'grant $boss to $group; grant $group to $clerk',
      text: /^is a superuser/,
      via: '$boss',
    },
    'a predefined role by ADMIN alone': {
      kind: 'attribute',
      roles: { group: 'NOLOGIN' },
      setup: `grant pg_read_all_data to $group;
        grant $group to $clerk with admin true, inherit false, set false`,
      text: /^is in pg_read_all_data/,
      via: '$group',
      from: 160000,
    },
    'the owner of the schema': {
      kind: 'ownership',
      roles: { group: 'NOLOGIN' },
      setup: 'alter schema public owner to $group; grant $group to $clerk',
      text: /^owns the schema/,
      via: '$group',
    },
    'a group with TRIGGER, granted by two roles': {
      kind: 'privilege',
      roles: { group: 'NOLOGIN', granter: 'NOLOGIN' },
      setup: `grant trigger on public.person to $group; grant $group to $granter with admin option;
        grant $group to $clerk; set role $granter; grant $group to $clerk; reset role`,
      text: /^has TRIGGER/,
      via: '$group',
    },
    'a group with TRIGGER, and a login role of a person in it': {
      kind: 'privilege',
      roles: { person: 'LOGIN', group: 'NOLOGIN' },
      as: 'person',
      setup: 'grant trigger on public.person to $group; grant $group to $person',
      text: /^has TRIGGER/,
      via: '$group',
    },
    'PUBLIC with TRIGGER': {
      kind: 'privilege',
      setup: 'grant trigger on public.person to public',
      text: /^has TRIGGER/,
      via: 'PUBLIC',
    },
    'a membership that gives nothing, since 16': {
      kind: null,
      roles: { group: 'NOLOGIN REPLICATION' },
      setup: 'grant $group to $clerk with admin false, inherit false, set false',
      from: 160000,
    },
  }),
]
