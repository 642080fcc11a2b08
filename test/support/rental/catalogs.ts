/** Catalog queries of tools: completion, trees of objects, editors of tables, dashboards, schema browsers. */
export const catalogQueries: Readonly<Record<string, string>> = {
  'completion of tables': `select pg_catalog.quote_ident(c.relname) from pg_catalog.pg_class c where c.relkind in ('r', 'v', 'm', 'f', 'p')
    and substring(pg_catalog.quote_ident(c.relname), 1, 4) = 'cust' and pg_catalog.pg_table_is_visible(c.oid)
    and c.relnamespace <> (select oid from pg_catalog.pg_namespace where nspname = 'pg_catalog')
    union select pg_catalog.quote_ident(n.nspname) || '.' || pg_catalog.quote_ident(c.relname) from pg_catalog.pg_class c, pg_catalog.pg_namespace n
    where c.relnamespace = n.oid and substring(pg_catalog.quote_ident(n.nspname) || '.', 1, 4) = 'publ' order by 1 limit 1000`,
  'completion of columns': `select pg_catalog.quote_ident(attname) from pg_catalog.pg_attribute a, pg_catalog.pg_class c where c.oid = a.attrelid
    and a.attnum > 0 and not a.attisdropped and substring(pg_catalog.quote_ident(attname), 1, 1) = 'e'
    and (pg_catalog.quote_ident(relname) = 'customer' or '"' || relname || '"' = 'customer') and pg_catalog.pg_table_is_visible(c.oid) limit 1000`,
  'a tree of schemas': `select n.oid, n.nspname as name, pg_catalog.pg_get_userbyid(n.nspowner) as owner, has_schema_privilege(n.oid, 'CREATE') as can_create,
    array_to_string(n.nspacl::text[], ', ') as acl, d.description from pg_catalog.pg_namespace n
    left join pg_catalog.pg_description d on d.objoid = n.oid and d.classoid = 'pg_namespace'::regclass where nspname not like 'pg!_%' escape '!' order by nspname`,
  'a tree of tables': `select rel.oid, rel.relname as name, (select count(*) from pg_trigger where tgrelid = rel.oid and not tgisinternal) as triggers,
    rel.relkind, rel.reltuples, (select count(1) from pg_inherits where inhrelid = rel.oid) as parents, obj_description(rel.oid, 'pg_class')
    from pg_class rel where rel.relkind in ('r', 's', 't', 'p') and rel.relnamespace = 'public'::regnamespace and not rel.relispartition order by rel.relname`,
  'the columns of a table': `select a.attname as name, a.attnum, format_type(a.atttypid, a.atttypmod), a.attnotnull, pg_get_expr(d.adbin, d.adrelid) as default,
    a.attidentity, a.attgenerated, c.collname, col_description(a.attrelid, a.attnum), a.attacl::text, t.typname, t.typcategory
    from pg_attribute a join pg_type t on t.oid = a.atttypid left join pg_attrdef d on d.adrelid = a.attrelid and d.adnum = a.attnum
    left join pg_collation c on c.oid = a.attcollation where a.attrelid = 'public.customer'::regclass and a.attnum > 0 and not a.attisdropped order by a.attnum`,
  'constraints and indexes': `select c.conname, c.contype, pg_get_constraintdef(c.oid, true), c.confrelid::regclass, i.indexrelid::regclass, pg_get_indexdef(i.indexrelid, 0, true)
    from pg_constraint c full join pg_index i on i.indexrelid = c.conindid where coalesce(c.conrelid, i.indrelid) = 'public.customer'::regclass order by 1, 5`,
  'a whole class': `select c.oid, c.*, d.description, pg_catalog.pg_get_expr(c.relpartbound, c.oid) as bound, pg_catalog.pg_get_partkeydef(c.oid) as key
    from pg_catalog.pg_class c left outer join pg_catalog.pg_description d on d.objoid = c.oid and d.objsubid = 0 and d.classoid = 'pg_class'::regclass
    where c.relnamespace = 'public'::regnamespace and c.relkind not in ('i', 'I', 'c') order by c.oid`,
  definitions: `select pg_get_viewdef('public.customer_list'::regclass, true), pg_get_functiondef('public.customer_balance'::regproc),
    pg_get_userbyid(relowner), pg_get_serial_sequence('public.customer', 'id') from pg_class where oid = 'customer_list'::regclass`,
  dependencies: `select distinct dep.deptype, dep.classid::regclass, cl.relkind, coalesce(cl.relname, ta.relname) as name from pg_depend dep
    left join pg_class cl on dep.objid = cl.oid left join pg_rewrite rw on dep.objid = rw.oid left join pg_class ta on ta.oid = rw.ev_class
    where dep.refobjid = 'public.address'::regclass order by 1, 2, 3, 4`,
  activity: `select count(*) >= 1 as here, bool_or(usename = current_user), count(distinct datname) from pg_stat_activity where pid = pg_backend_pid()`,
  privileges: `select has_table_privilege('public.customer', 'SELECT'), has_any_column_privilege('public.customer', 'SELECT'), has_table_privilege('public.customer', 'UPDATE'),
    has_column_privilege('public.customer', 'email', 'SELECT'), has_column_privilege('public.customer', 'id', 'SELECT'), has_database_privilege(current_database(), 'CONNECT')`,
  statistics: `select schemaname, tablename, attname, null_frac from pg_stats where schemaname in ('public', 'oracle') order by 1, 2, 3`,
  'types and enumerations': `select t.typname, array_agg(e.enumlabel order by e.enumsortorder) from pg_type t join pg_enum e on e.enumtypid = t.oid group by t.oid, t.typname order by 1`,
  'types for a driver': `select ns.nspname, t.oid, t.typname, t.typtype, t.typnotnull, t.elemtypoid from (select typ.oid, typ.typnamespace, typ.typname, typ.typtype,
    typ.typrelid, typ.typnotnull, elemtyp.oid as elemtypoid from pg_type as typ left join pg_type as elemtyp on elemtyp.oid = typ.typelem) as t
    join pg_namespace as ns on ns.oid = t.typnamespace where ns.nspname = 'public' order by t.oid`,
  'tables of the information schema': `select table_schema, table_name, table_type, is_insertable_into from information_schema.tables where table_schema not in ('pg_catalog', 'information_schema') order by 1, 2`,
  'keys of the information schema': `select tc.constraint_name, tc.constraint_type, kcu.column_name, ccu.table_name from information_schema.table_constraints tc
    left join information_schema.key_column_usage kcu using (constraint_schema, constraint_name) left join information_schema.constraint_column_usage ccu using (constraint_schema, constraint_name)
    where tc.table_schema = 'public' and tc.table_name = 'customer' and tc.constraint_type <> 'CHECK' order by 1, 3, 4`,
  routines: `select routine_name, data_type, external_language from information_schema.routines where specific_schema = 'public' order by 1`,
  sequences: `select schemaname, sequencename, data_type, last_value from pg_sequences order by 1, 2`,
  settings: `select name, setting, category from pg_settings where name in ('server_version_num', 'standard_conforming_strings', 'search_path', 'TimeZone') order by 1`,
}

export const psqlCommands = String.raw`
\l
\dn+
\dt
\dt *.customer
\dt+ public.*
\dv
\dm
\d customer
\d+ public.customer
\d public.payment
\d+ payment_2025_02
\d+ customer_list
\d "Back Office"."Complaint"
\d masked_public.customer
\di
\ds
\df
\df+ customer_balance
\dT+
\dD
\du
\dp
\ddp
\dx
\da
\db
\dy
\dO public.*
\sf customer_balance
\sv customer_list
\encoding
select id, email from public.customer where id < 3 order by id \gdesc
select id, email from public.customer where id < 3 order by id \gx
select id, store_id, email from customer where id < 5 order by id \crosstabview
\echo :ROW_COUNT
\copy (select id, card from public.customer order by id limit 2) to stdout csv header
\set ON_ERROR_ROLLBACK on
begin;
select nothere from public.customer;
select email from public.customer where id = 1;
commit;
\set FETCH_COUNT 7
select id, email from public.customer order by id limit 20;
\if true
select 'é' as "ü", email from customer where id = 2;
\endif
`
