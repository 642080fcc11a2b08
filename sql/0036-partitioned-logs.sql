-- Audit and change log in partitions by time: old entries go by DROP TABLE, which takes a moment, and not by a DELETE that
-- leaves the room to vacuum. The rows so far are attached as they are, as the first partition. It costs one scan of each table
-- and one new index each, during which writers wait.
-- Keys get the time, as every unique key of a partitioned table has to: ids come from a sequence and revisions from a
-- counter, so neither occurs twice. The default partitions take entries that no other one is for.

do $$
declare
  last_id bigint;
  newest timestamptz;
  bound timestamptz;
begin
  lock table audit_event, change_log in access exclusive mode;

  select max(id), max(at) into last_id, newest from audit_event;
  alter table audit_event alter id drop identity;
  alter table audit_event drop constraint audit_event_pkey;
  alter table audit_event rename to audit_event_first;
  alter index audit_event_by_time rename to audit_event_first_by_time;
  alter index audit_event_by_target rename to audit_event_first_by_target;
  alter index audit_event_of_directory rename to audit_event_first_of_directory;
  create sequence audit_event_id_seq;
  create table audit_event (
    id bigint not null default nextval('audit_event_id_seq'),
    at timestamptz not null default now(),
    tenant_id uuid not null,
    actor jsonb not null,
    action text not null,
    target text collate "C" not null,
    before jsonb,
    after jsonb,
    request_id text,
    primary key (id, at)
  ) partition by range (at);
  alter sequence audit_event_id_seq owned by audit_event.id;
  perform setval('audit_event_id_seq', coalesce(last_id, 0) + 1, false);
  create index audit_event_by_time on audit_event (tenant_id, at, id);
  create index audit_event_by_target on audit_event (tenant_id, target, at, id);
  create index audit_event_of_directory on audit_event (tenant_id, at, id) where action not like '%/%';
  bound := date_trunc('month', coalesce(newest, now()) at time zone 'UTC') at time zone 'UTC';
  if newest is not null then bound := bound + interval '1 month'; end if;
  execute format('alter table audit_event attach partition audit_event_first for values from (minvalue) to (%L)', bound);
  create table audit_event_default partition of audit_event default;

  select max(at) into newest from change_log;
  alter table change_log rename to change_log_first;
  alter table change_log_first drop constraint change_log_pkey;
  create table change_log (
    tenant_id uuid not null,
    revision bigint not null,
    at timestamptz not null default now(),
    entity text not null,
    entity_id text not null,
    kind text not null,
    data jsonb,
    primary key (tenant_id, revision, at)
  ) partition by range (at);
  bound := date_trunc('week', coalesce(newest, now()) at time zone 'UTC') at time zone 'UTC';
  if newest is not null then bound := bound + interval '7 days'; end if;
  execute format('alter table change_log attach partition change_log_first for values from (minvalue) to (%L)', bound);
  create table change_log_default partition of change_log default;
end $$;
