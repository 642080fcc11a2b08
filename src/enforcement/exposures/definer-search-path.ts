import { quoteIdentifier } from '../../db/quote.ts'
import { readDefiners } from './definers.ts'
import { kind, type NamedObject } from './exposure.ts'
import { judgePath, type PathReason, pathReasons, readCreators } from './search-paths.ts'

interface Found {
  readonly reason: PathReason
  readonly lender: string
  readonly routines: readonly NamedObject[]
  readonly remedies: readonly string[]
  readonly roles: readonly string[]
}

/**
 * A body in text has its names looked up when it runs, by the caller's search path unless the function sets its own. A masked role that
 * chooses the path, or may create objects in a schema of it, chooses the functions, operators, types and tables. Temporary tables and types
 * come before all others, unless the path names pg_temp last.
 */
export const definerSearchPath = kind<Found>({
  code: 'DefinerSearchPath',
  severity: 'high',
  async read(scene) {
    const definers = (await readDefiners(scene)).filter(({ isBound }) => !isBound)
    if (definers.length === 0) return []
    const creators = await readCreators(scene)
    const found = definers.flatMap((definer) => {
      // The function runs as its owner, so `$user` is the owner's schema.
      const path = definer.path?.map((name) => (name === '$user' ? definer.owner : name)) ?? null
      const judged = judgePath(scene, { ...definer, path }, creators)
      return judged ? [{ ...judged, definer }] : []
    })
    // One for all functions of an owner: there may be thousands.
    const groups = Map.groupBy(found, ({ reason, definer, roles }) =>
      JSON.stringify([reason, definer.owner, roles]),
    )
    return [...groups.values()].flatMap((same) => {
      const [first] = same
      if (!first) return []
      return {
        reason: first.reason,
        lender: first.definer.owner,
        roles: first.roles,
        routines: same.map(({ definer }) => ({ kind: definer.kind, name: definer.signature })),
        remedies: same.map(({ remedy }) => remedy),
      }
    })
  },
  describe: ({ reason, lender, routines, remedies }) => ({
    severity: reason === 'temporary' ? 'medium' : 'high',
    objects: routines,
    explanation: `${routines.length === 1 ? 'It runs' : 'They run'} with the privileges of ${quoteIdentifier(lender)}, whose rights lead to raw values, and PostgreSQL looks names in the text up at run time: ${pathReasons[reason]} Code of these roles then runs as ${quoteIdentifier(lender)}. The remedy sets a path that these roles cannot change; names in other schemas have to be qualified.`,
    remedy: remedies.join(';\n'),
  }),
})
