import type { Sql } from '../../db/sql.ts'
import type { Note } from '../plan.ts'
import type { Target } from '../policy.ts'
import { examineMappedRole } from '../preflight/examine-mapped-role.ts'
import type { IsExemptElsewhere } from '../preflight/exempt-elsewhere.ts'
import { describeFinding } from '../preflight/preflight.ts'
import type { WantedLogin } from './diff-logins.ts'
import type { ObservedLogin } from './observe-logins.ts'

/** A principal of the directory with the database roles that mappings give it. */
export interface LoginRights {
  readonly principalId: string
  /** The userPrincipalName or the appId. */
  readonly name: string
  readonly roles: readonly string[]
}

/**
 * The roles of each principal: the mapped ones that exist and open no way around the masks. A role may have become
 * harmful since it was mapped. A principal without any such role gets no login role.
 */
export async function desireLogins(
  sql: Sql,
  rights: readonly LoginRights[],
  tables: readonly Target[],
  logins: readonly ObservedLogin[],
  roleNameOf: (name: string) => string,
  isExemptElsewhere: IsExemptElsewhere,
): Promise<{ wanted: Map<string, WantedLogin>; notes: Note[] }> {
  const notes: Note[] = []
  const usable = new Map<string, 'always' | 'where it is held'>()
  for (const role of [...new Set(rights.flatMap(({ roles }) => roles))].sort()) {
    const { exists, objections } = await examineMappedRole(sql, role, tables, isExemptElsewhere)
    if (!exists) notes.push(note(role, `No role of the database has the name that is mapped: ${role}.`))
    const isHarmless = exists && objections.every(({ code }) => code === 'NotGrantable')
    if (isHarmless) usable.set(role, objections.length === 0 ? 'always' : 'where it is held')
    for (const objection of objections) notes.push(note(role, describeFinding(objection)))
  }
  const held = new Map(
    logins.map(({ mark, memberships }) => [mark.principalId, new Set(memberships.map(({ role }) => role))]),
  )
  const wanted = rights.map(
    ({ principalId, name, roles }): WantedLogin => ({
      principalId,
      role: roleNameOf(name),
      memberOf: roles.filter(
        (role) =>
          usable.get(role) === 'always' || (usable.has(role) && held.get(principalId)?.has(role) === true),
      ),
    }),
  )
  return {
    wanted: new Map(
      wanted.filter(({ memberOf }) => memberOf.length > 0).map((one) => [one.principalId, one]),
    ),
    notes,
  }
}

function note(target: string, message: string): Note {
  return { code: 'MappedRole', target, message }
}
