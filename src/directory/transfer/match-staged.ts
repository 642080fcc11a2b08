import type { Tx } from '../../db/database.ts'
import type { Query } from '../../db/query.ts'
import { Problem } from '../../kernel/problem.ts'
import type { JsonObject } from '../entities/property.ts'
import { checkTogether } from '../objects/group-rules.ts'
import { resources } from '../objects/kinds/resources.ts'
import type { Fault } from './find-faults.ts'

/** Tables for the staged lines about what the directory has already: they change it, or say what is so. */
export async function createUpdateTables(tx: Tx): Promise<void> {
  await tx`
    create temporary table import_update (
      line integer, id uuid, kind text, properties jsonb, custom text[], has_id boolean, cleared text[], stored jsonb,
      merged jsonb) on commit drop`
  await tx`create temporary table import_match (line integer, id uuid, count bigint) on commit drop`
  await tx`create temporary table import_extension_update (like import_extension) on commit drop`
}

/** The name that tells an object from others of its kind where a line has no id. Two tables have these columns. */
const naturalKey = (tx: Query) => tx`
  case kind
    when 'user' then lower((properties ->> 'userPrincipalName') collate "C") collate "default"
    when 'group' then coalesce((properties -> 'groupTypes') ? 'Unified', false) || (properties ->> 'displayName')
    when 'device' then properties ->> 'deviceId'
    else coalesce('appId ' || lower(properties ->> 'appId'), properties ->> 'displayName')
  end`

const wasDeleted = 'The object was deleted while the file was read. Import it again.'

const hasSameNickname = (tx: Query) => tx`(
  staged.kind <> 'group' or not staged.properties ? 'mailNickname'
  or coalesce(lower(present.mail_nickname) = lower(staged.properties ->> 'mailNickname'), false))`

/**
 * Gives lines without an id the id of the object that they name. A group with a mailNickname is matched by that as well:
 * several groups may have one displayName. Returns the lines that name several objects.
 */
export async function matchByName(tx: Tx, tenantId: string, limit: number): Promise<Fault[]> {
  const [unnamed] = await tx`select from import_object where not has_id limit 1`
  if (!unnamed) return []
  await tx`
    insert into import_match (line, id, count)
    select staged.line, min(present.id::text)::uuid as id, count(*)
    from (select line, kind, properties, ${naturalKey(tx)} as key from import_object where not has_id) staged
    join (
      select id, kind, mail_nickname, app_id, ${naturalKey(tx)} as key from directory_object
      where tenant_id = ${tenantId} and deleted_at is null and kind in (select kind from import_object where not has_id)
    ) present on present.kind = staged.kind and present.key = staged.key
    where ${hasSameNickname(tx)}
    group by staged.line`
  await tx`update import_object staged set id = found.id from import_match found where found.line = staged.line and count = 1`
  return await tx<Fault[]>`
    select line, format('%s objects of the directory have this name. Give the id of one.', count) as reason
    from import_match where count > 1 order by 1 limit ${limit}`
}

/** Moves lines about objects that are there to a table of their own: the others are new. Returns how many they were. */
export async function moveUpdates(tx: Tx, tenantId: string): Promise<number> {
  const moved = await tx`
    with moved as (
      delete from import_object staged using directory_object present
      where present.tenant_id = ${tenantId} and present.id = staged.id and present.kind = staged.kind
        and present.deleted_at is null
      returning staged.*, present.properties as stored
    )
    insert into import_update (line, id, kind, properties, custom, has_id, cleared, stored, merged)
    select line, id, kind, properties, custom, has_id, cleared, stored, (stored || properties) - coalesce(cleared, '{}')
    from moved`
  if (moved.count > 0) await tx`analyze import_update`
  return moved.count
}

/** Lines that named an object which is gone since: an object that is made anew must not have its id. */
export async function findLostMatches(tx: Tx, limit: number): Promise<Fault[]> {
  return await tx<Fault[]>`
    select line, ${wasDeleted} as reason from import_object join import_match using (line)
    where count = 1 order by 1 limit ${limit}`
}

/** Forgets lines that say what is so already, and returns how many they were. */
export async function dropUnchanged(tx: Tx): Promise<number> {
  return (await tx`delete from import_update where merged = stored`).count
}

/**
 * Locks the objects that lines change, in the order of ids as most writes do, and reads them again: they were compared without
 * a lock, as most lines of a file change nothing. An assignment of an app role locks its resource first: of two transactions in a
 * deadlock PostgreSQL ends one, which is run again. From here to the commit no other write changes them, so all checks judge the
 * state that is written. Returns the lines whose object was deleted meanwhile, or lost the name that the line knows it by.
 *
 * DIR-421: the applications of new service principals are locked as well, before these are stored: a creation by a caller locks the
 * application first, and then waits for the other service principal of its `appId`.
 */
export async function lockUpdates(tx: Tx, tenantId: string, limit: number): Promise<Fault[]> {
  await tx`
    with locked as materialized (
      select o.id from directory_object o
      where o.tenant_id = ${tenantId} and o.id in (
        select id from import_update
        union all
        select application.id from import_object created
        join directory_object application on application.tenant_id = ${tenantId} and application.kind = 'application'
          and application.app_id = created.properties ->> 'appId'
        where created.kind = 'servicePrincipal')
      order by o.id for no key update
    )
    select count(*) from locked`
  await tx`
    update import_update staged
    set stored = o.properties, merged = (o.properties || staged.properties) - coalesce(staged.cleared, '{}')
    from directory_object o where o.tenant_id = ${tenantId} and o.id = staged.id and o.properties <> staged.stored`
  return await tx<Fault[]>`
    with staged as (select line, id, kind, has_id, properties, ${naturalKey(tx)} as key from import_update)
    select line, case
        when present.id is null then ${wasDeleted}
        else 'The object of this name was renamed while the file was read. Import it again.'
      end as reason
    from staged left join (
      select id, mail_nickname, ${naturalKey(tx)} as key from directory_object
      where tenant_id = ${tenantId} and deleted_at is null and id in (select id from import_update)
    ) present on present.id = staged.id
    where present.id is null
      or not has_id and (present.key is distinct from staged.key or not ${hasSameNickname(tx)})
    order by 1 limit ${limit}`
}

/** Properties that only a creation sets, by kind. */
const fixedProperties: Readonly<Record<string, readonly string[]>> = Object.fromEntries(
  Object.values(resources).map(({ kind, properties }) => [
    kind,
    Object.keys(properties).filter((name) => properties[name]?.write === 'creation' || name === 'appId'),
  ]),
)

/** Changes that an object cannot have. Null in a line is a change of a value too; false and an empty list are none. */
export async function findUpdateFaults(tx: Tx, limit: number): Promise<Fault[]> {
  const fixed = await tx<Fault[]>`
    select line, format('%s cannot be changed once the object is there.', name) as reason
    from import_update cross join lateral jsonb_array_elements_text(${tx.json(fixedProperties)}::jsonb -> kind) name
    where (properties ? name or name = any(cleared))
      and (case when coalesce(properties -> name, 'null') in ('false', '[]') then 'null' else coalesce(properties -> name, 'null') end)
        <> (case when coalesce(stored -> name, 'null') in ('false', '[]') then 'null' else coalesce(stored -> name, 'null') end)
    order by 1 limit ${limit}`
  const groups = await tx<{ line: number; properties: JsonObject; merged: JsonObject }[]>`
    select line, properties, merged from import_update where kind = 'group' order by line`
  return [...fixed, ...groups.flatMap(({ line, properties, merged }) => checkGroup(line, properties, merged))]
}

function checkGroup(line: number, properties: JsonObject, merged: JsonObject): Fault[] {
  try {
    checkTogether(properties, merged)
    return []
  } catch (error) {
    if (!(error instanceof Problem)) throw error
    return [{ line, reason: error.message }]
  }
}

export async function storeUpdates(tx: Tx, tenantId: string): Promise<number> {
  const stored = await tx`
    update directory_object o set properties = merged, version = o.version + 1
    from import_update where o.tenant_id = ${tenantId} and o.id = import_update.id`
  return stored.count
}
