import type { Place } from '../db/database-url.ts'
import { quoteIdentifier, quoteQualified } from '../db/quote.ts'
import type { Intruder, Relation, Snapshot, StrayTwin } from './catalog.ts'
import { guardSchema, hasLoginForm, readServed, twinOwnerName, twinOwnerPrefix } from './names.ts'
import type { Note } from './plan.ts'

export function noTwin({ schema, name }: Pick<Relation, 'schema' | 'name'>): Note {
  const target = `${schema}.${name}`
  const message = `${target} shows masked data and cannot have a masked twin: its definition is too large, or PostgreSQL refused it over twins (a view that groups by a primary key must name every column in GROUP BY; ONLY, TABLESAMPLE and system columns are for tables). It is closed to all roles that are not exempt.`
  return { code: 'NoTwin', target, message }
}

/** It was made for a mask that is gone, stayed for objects of others, and would show raw values now. */
export function twinClosed({ schema, name }: Pick<StrayTwin, 'schema' | 'name'>): Note {
  const target = `${schema}.${name}`
  const twin = quoteQualified(schema, name)
  const message = `${target} is left from an earlier mask and reads data that is masked now. It is closed to all roles, and views over it to those that are not exempt. To remove them: DROP VIEW ${twin} CASCADE.`
  return { code: 'TwinKept', target, message }
}

/** No mask needs it, and objects of others read it. */
export function twinRetired(
  { schema, name }: Pick<StrayTwin, 'schema' | 'name'>,
  readsAsReader: boolean,
): Note {
  const twin = quoteQualified(schema, name)
  const state = readsAsReader
    ? 'stays and shows masked values, because other views read it, to roles that may read what it reads themselves'
    : 'stays, because other views read it, and is closed to all roles'
  return {
    code: 'TwinKept',
    target: twin,
    message: `${twin} ${state}. To remove both: DROP VIEW ${twin} CASCADE.`,
  }
}

/** The same, and it belongs to a role that the binding cannot act for. */
export function twinLeft({ schema, name, owner }: Pick<StrayTwin, 'schema' | 'name' | 'owner'>): Note {
  const twin = quoteQualified(schema, name)
  const message = `${twin} stays as it was, because other views read it, and reads with the rights of ${quoteIdentifier(owner)}, for which the role of the binding cannot act. To remove both: DROP VIEW ${twin} CASCADE.`
  return { code: 'TwinKept', target: twin, message }
}

/** It had to go, and objects of others read it. */
export function twinEmptied({ schema, name }: Pick<StrayTwin, 'schema' | 'name'>): Note {
  const target = `${schema}.${name}`
  const twin = quoteQualified(schema, name)
  const message = `Objects of other roles read ${target} as it was. What stays for them reads nothing, and they fail: create them again. It goes when nothing reads it. To find them, see the detail of: DROP VIEW ${twin}.`
  return { code: 'TwinKept', target, message }
}

/** Another owner's twins have the role that is there, and one role must not read tables of several owners. */
export function noTwinOwner(
  { schema, name, owner }: Relation,
  { user, version, roles }: Snapshot,
  twinOwner: string,
): Note {
  const target = `${schema}.${name}`
  if (roles.has(twinOwner)) return { code: 'NoTwin', target, message: describeNameless(target, owner) }
  const statements = prepareTwinOwner(twinOwner, user, version)
  const message = `${target} has no masked twin: the twins of what ${quoteIdentifier(owner)} owns need a role of their own, which the role of the binding cannot create. It is closed to all roles that are not exempt. Run: ${statements.join('; ')}.`
  return { code: 'NoTwin', target, message }
}

/** Their row policies would run with the rights of the twin's owner, which reads every masked table of this owner. */
export function readsStrangers({ schema, name, owner, strangers }: Relation): Note {
  const target = `${schema}.${name}`
  const read = strangers.map(
    (one) => `${quoteQualified(one.schema, one.name)} of ${quoteIdentifier(one.owner)}`,
  )
  const statements = strangers.map(
    (one) => `ALTER TABLE ${quoteQualified(one.schema, one.name)} OWNER TO ${quoteIdentifier(owner)}`,
  )
  const message = `${target} has no masked twin: its row policies read ${read.join(', ')}, whose own row policies would read masked tables of ${quoteIdentifier(owner)} through the twin. It is closed to all roles that are not exempt. Let the policies read a view of that owner instead, or run: ${statements.join('; ')}.`
  return { code: 'NoTwin', target, message }
}

function describeNameless(target: string, owner: string): string {
  return `${target} has no masked twin: other roles have every name of the role for the twins of what ${quoteIdentifier(owner)} owns. It is closed to all roles that are not exempt. Drop the roles ${twinOwnerPrefix}… that are not this service's.`
}

/** Another role could have placed code in the schema, which runs for those who have it in their search path. */
export function createRevoked(schema: string, role: string): Note {
  const message = `${role} could create objects in ${quoteIdentifier(schema)}, where only owners of twins may, and cannot any more. Look for functions there that are not yours: SELECT oid::regprocedure FROM pg_proc WHERE pronamespace = '${quoteIdentifier(schema)}'::regnamespace.`
  return { code: 'CreateRevoked', target: schema, message }
}

/** For an operator, where the role of the binding may not create roles. */
export function prepareTwinOwner(name: string, user: string, version: number): string[] {
  const twins = quoteIdentifier(name)
  return [`CREATE ROLE ${twins} NOLOGIN`, joinTwinOwner(name, user, version)]
}

export function joinTwinOwner(name: string, user: string, version: number): string {
  const option = version >= 160000 ? ' WITH SET TRUE, INHERIT FALSE' : ''
  return `GRANT ${quoteIdentifier(name)} TO ${quoteIdentifier(user)}${option}`
}

export function rowSecurity({ schema, name }: Relation, isRestricted: boolean): Note {
  const target = `${schema}.${name}`
  const message = isRestricted
    ? `${target} reads a table whose row policies restrict certain roles. It has no masked twin and is closed to all roles that are not exempt.`
    : `${target} has row policies for certain roles. Through the masked twin only policies for PUBLIC show rows.`
  return { code: 'RowSecurity', target, message }
}

/** `heir`: a role that the role of the binding may act for. A member of a superuser can do all that it can, so none is proposed. */
export function notManageable(relation: Relation, heir: string, isOfSuperuser: boolean): Note {
  const { schema, name, owner, managed, definition } = relation
  const target = `${schema}.${name}`
  const remedy =
    isOfSuperuser || hasLoginForm(owner)
      ? `Run: ${changeOwner(relation, heir)}.`
      : `GRANT ${quoteIdentifier(owner)} to the role of the binding.`
  if (managed === 'not' && definition === null)
    return {
      code: 'NotMasked',
      target,
      message: `${target} is not masked: it can only be by its owner. ${remedy}`,
    }
  const message = `${target} shows masked data, and only its owner can close it or give it a twin. ${remedy}`
  return { code: 'NotManageable', target, message }
}

/** Its data is from before the rule. Only its owner, or a superuser, could close it. */
export function copyReads(relation: Relation, readers: readonly string[], heir: string): Note {
  const { schema, name, owner } = relation
  const target = `${schema}.${name}`
  const message = `${target} is not masked: it holds masked columns from before the rule, belongs to ${quoteIdentifier(owner)}, and can only be closed by its owner. It shows them to ${readers.join(', ')}. Drop it, or run: ${changeOwner(relation, heir)}.`
  return { code: 'NotMasked', target, message }
}

/** It reads with the rights of its owner, which sees raw values. Only its owner, or a superuser, could close it. */
export function viewReads(relation: Relation, readers: readonly string[], heir: string): Note {
  const { schema, name, owner } = relation
  const target = `${schema}.${name}`
  const list = readers.join(', ')
  const message = `${target} is not masked: it shows masked columns with the rights of ${quoteIdentifier(owner)}, and can only be closed by its owner. It shows them to ${list}. To close it, run: REVOKE SELECT ON ${quoteQualified(schema, name)} FROM ${list} CASCADE. To give it a masked twin instead: ${changeOwner(relation, heir)}.`
  return { code: 'NotMasked', target, message }
}

/** Its rows were read when what it reads was masked, and nothing in the catalog says that they were read again. */
export function copyStaysClosed({ schema, name }: Relation): Note {
  const target = `${schema}.${name}`
  const on = quoteQualified(schema, name)
  const message = `${target} stays closed: what it reads is not masked any more, but its rows may be from before. Run: REFRESH MATERIALIZED VIEW ${on} WITH NO DATA, wait until this note is gone, and refresh it again.`
  return { code: 'CopyClosed', target, message }
}

function changeOwner({ schema, name, kind }: Relation, heir: string): string {
  return `ALTER ${kind.toUpperCase()} ${quoteQualified(schema, name)} OWNER TO ${quoteIdentifier(heir)}`
}

/** An owner needs no grant, and could give itself one: revoking changes nothing. */
export function ownerReads(relation: Relation, heir: string): Note {
  const { schema, name, owner } = relation
  const target = `${schema}.${name}`
  const message = `${target} holds masked data and belongs to ${quoteIdentifier(owner)}, which is not exempt and reads it as its owner. Drop it, or run: ${changeOwner(relation, heir)}.`
  return { code: 'OwnerReads', target, message }
}

/** An entry may be of a role that does not exist yet; it is more often a name that was mistyped. */
export function exemptsNothing(entry: string, makers: readonly string[]): Note {
  const later =
    makers.length === 0
      ? ''
      : ` As roles other than superusers can create roles (${makers.map(quoteIdentifier).join(', ')}), a role that gets the name later is not exempt either: create it, then remove the entry and add it again.`
  const message = `The exempt list names ${quoteIdentifier(entry)}, which is neither a role of the database nor a user, application or group of the directory: it exempts no one.${later}`
  return { code: 'ExemptsNothing', target: entry, message }
}

/** A role of the name may have been created beforehand by a masked role: the operator meant the object of the directory. */
export function exemptsNoRole(entry: string): Note {
  const role = quoteIdentifier(entry)
  const message = `The exempt list names ${role}, which is an object of the directory: the database role of the same name is not exempt. If it is meant to be, grant it a role of another name and exempt that one.`
  return { code: 'ExemptsNoRole', target: entry, message }
}

/** The role came after the entry, and a role that has CREATEROLE, or had it, could have created it; or the entry named an object of the directory. */
export function exemptNameTaken(entry: string, makers: readonly string[]): Note {
  const role = quoteIdentifier(entry)
  const named = makers.length === 0 ? '' : ` (${makers.map(quoteIdentifier).join(', ')})`
  const message = `The role ${role} took the name of an exempt entry after the entry was stored. Roles other than superusers can create roles${named}, or could when a turn judged the entry, or the entry named an object of the directory before. It is not exempt. If it is meant to be, remove the entry and add it again.`
  return { code: 'ExemptNameTaken', target: entry, message }
}

export function sharedTwinOwner(twinOwner: string, { member, grantor, mayAct }: Intruder): Note {
  const [owner, role] = [quoteIdentifier(twinOwner), quoteIdentifier(member)]
  const right = mayAct ? 'can act as' : 'can give itself'
  const message = `${role} ${right} ${owner}, the role that reads masked tables for the twins. Only a superuser or ${quoteIdentifier(grantor)} can revoke that. Run: REVOKE ${owner} FROM ${role} GRANTED BY ${quoteIdentifier(grantor)} CASCADE.`
  return { code: mayAct ? 'NotMasked' : 'NotClosed', target: member, message }
}

/** Only a superuser or the role of the binding can drop it. */
export function recordsRestored(schema: string, at: Date): Note {
  const message = `The schema ${quoteIdentifier(schema)}, which holds the grants from before masking, was dropped by another session. The service wrote it back from its own copy at ${at.toISOString()}: nothing is lost.`
  return { code: 'RecordsRestored', target: schema, message }
}

/** Another role may have taken our names to stop us, or another service may mask the database. */
export function listTakenNames(
  { guard, database }: Snapshot,
  owners: readonly { readonly name: string }[],
): Note[] {
  return [
    ...(guard.schema === guardSchema
      ? []
      : [nameTaken(guardSchema, `The schema ${guardSchema}`, quoteIdentifier(guard.schema), formerRecords)]),
    ...owners.flatMap(({ name }) => {
      const usual = twinOwnerName(database, 0, readServed(database, name))
      return name === usual
        ? []
        : [nameTaken(usual, `The role ${quoteIdentifier(usual)}`, quoteIdentifier(name))]
    }),
  ]
}

/** The role of a binding was changed before a turn of this release signed the records of 0.1 for the database (ENF-429). */
const formerRecords =
  ' If its owner was the role of this binding before, it holds the grants from before masking: make the role of the binding the owner of the schema and of its tables.'

function nameTaken(target: string, subject: string, used: string, unless = ''): Note {
  const message = `${subject} is of another role, so this service uses ${used}. If another service masks this database, unbind one of them.${unless} Otherwise drop it.`
  return { code: 'NameTaken', target, message }
}

/** Masks are not written there, and sessions of the gateway do not go there. */
export function foreignServer({ host, port }: Place): Note {
  const target = `${host}:${port}`
  const message = `The server ${target} of the binding belongs to another cluster than the others, and is not used. Correct the host of the binding; if it is this cluster, made anew, send the binding again.`
  return { code: 'ForeignServer', target, message }
}
