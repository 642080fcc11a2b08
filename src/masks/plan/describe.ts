import type { Note } from '../../contracts/note.ts'
import { quoteIdentifier } from '../../db/quote.ts'
import type { Relation, Snapshot } from '../model.ts'
import type { Policy } from '../policy.ts'
import type { MaskedRelation } from './model.ts'
import { describeUnmanaged, type Unmanaged } from './unmanaged.ts'

/** Notes about what the policy names and masks cannot follow, apart from those of the masks themselves. */
export function describeAround(
  snapshot: Snapshot,
  policy: Pick<Policy, 'rules' | 'takenNames'>,
  masked: readonly MaskedRelation[],
  unmanaged: readonly Unmanaged[],
): Note[] {
  const isRuled = policy.rules.length > 0
  const { unknown, namesakes } = snapshot.exempt
  return [
    ...(isRuled ? unknown.map(exemptsNothing) : []),
    ...(isRuled ? namesakes.map(exemptsNoRole) : []),
    ...(policy.takenNames ?? []).map(exemptNameTaken),
    ...masked.flatMap(({ relation }) => (relation.rolePolicies === 'none' ? [] : rowSecurity(relation))),
    ...masked.flatMap(({ relation, twin }) =>
      twin?.shows === 'decided' && !relation.isSecurityInvoker ? readsAsReader(relation) : [],
    ),
    ...unmanaged.flatMap((one) => describeUnmanaged(snapshot, one) ?? []),
  ]
}

const closed = 'It is closed to all roles that are not exempt.'

export function noTwin({ schema, name }: Relation, reason: string): Note {
  const target = `${schema}.${name}`
  const message = `${target} shows masked data and has no masked twin: ${reason}. ${closed}`
  return { code: 'NoTwin', target, message }
}

/** The twin of a view that shows its rows as they are reads with the rights of the view's owner. */
function readsAsReader({ schema, name }: Relation): Note {
  const target = `${schema}.${name}`
  const message = [
    `${target} chooses rows or values by masked columns, so its masked twin reads with the privileges of its reader.`,
    'Grant SELECT on the relations that it reads to the roles that are to read it.',
  ].join(' ')
  return { code: 'ReadsAsReader', target, message }
}

function rowSecurity({ schema, name, rolePolicies }: Relation): Note {
  const target = `${schema}.${name}`
  const effect =
    rolePolicies === 'restrictive'
      ? `row policies that restrict certain roles, and no masked twin. ${closed}`
      : 'row policies for certain roles. Through the masked twin only policies for PUBLIC show rows.'
  return { code: 'RowSecurity', target, message: `${target} has ${effect}` }
}

/** An entry may be of a role that does not exist yet; it is more often a name that was mistyped. */
function exemptsNothing(entry: string): Note {
  const message = [
    `The exempt list names ${quoteIdentifier(entry)}, which is neither a role of the database nor a user, application`,
    'or group of the directory: it exempts no one. A role that gets the name later is not exempt either: create it,',
    'then remove the entry and add it again.',
  ].join(' ')
  return { code: 'ExemptsNothing', target: entry, message }
}

/**
 * A role of the name may have been created beforehand by a masked role: the operator meant the object of the
 * directory.
 */
function exemptsNoRole(entry: string): Note {
  const message = [
    `The exempt list names ${quoteIdentifier(entry)}, which is an object of the directory: the database role of the`,
    'same name is not exempt. If it is meant to be, grant it a role of another name and exempt that one.',
  ].join(' ')
  return { code: 'ExemptsNoRole', target: entry, message }
}

/** Another role may have created it to be exempt. */
function exemptNameTaken(entry: string): Note {
  const message = [
    `The role ${quoteIdentifier(entry)} has the name of an exempt entry, which named another role, no role or`,
    'an object of the directory before. It is not exempt. If it is meant to be, remove the entry and add it again.',
  ].join(' ')
  return { code: 'ExemptNameTaken', target: entry, message }
}
