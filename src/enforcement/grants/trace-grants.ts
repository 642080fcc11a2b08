import { quoteQualified } from '../../db/quote.ts'
import type { ColumnGrant, Grant, Guard, ObservedTwin, Relation, Remembered } from '../catalog.ts'
import { hasStood, type WasExempt } from './left-grants.ts'

type Selects = Pick<Remembered, 'grants' | 'columnGrants'>
type AnyGrant = Grant & { readonly column?: number }

interface Trace {
  readonly isThere: boolean
  readonly mayPassOn: boolean
}

/**
 * What is left of the recorded grants of SELECT, and what was granted by hand since. `left` in a record says what the last turn that
 * changed the relation left there; all that differs by now was changed by hand. What a turn leaves or grants itself is by the owner.
 *
 * | recorded                | left there        | seen now                              | remembered                          |
 * | ----------------------- | ----------------- | ------------------------------------- | ----------------------------------- |
 * | whole, of an exempt role | itself           | itself, by the owner or its grantor   | as recorded                         |
 * |                         |                   | anything else                         | what is seen                        |
 * | whole, of a masked role | its open columns  | the whole, or all of these by the owner | as recorded                       |
 * |                         |                   | anything else                         | what is seen, so no masked column   |
 * | the same, none open     | nothing           | the whole at the twin, or no twin     | as recorded                         |
 * | a column, open or of an exempt role | itself | itself, by the owner or its grantor  | as recorded                         |
 * |                         |                   | anything else                         | what is seen                        |
 * | a masked column, of a masked role | nothing | it at the twin, or no twin, and all that was left to the role | as recorded |
 *
 * What the owner is seen to grant beside the same by another grantor, where nothing of that was left, is remembered beside it.
 * Grant options go the same way, and stay where a grant without the option was added to what is left: PostgreSQL revokes none by a GRANT.
 * A role may have become exempt, or masked, since: `left` tells what it was. Records of earlier releases have no `left`. There a grant of
 * the whole to a masked role counts while the role has any column.
 */
export function traceGrants(
  guard: Guard,
  relation: Relation,
  { grants: seen, columnGrants: seenColumns }: Selects,
  twins: ReadonlyMap<string, ObservedTwin>,
  wasExempt: WasExempt,
): Selects {
  const { owner } = relation
  const twin = findTwin(guard, twins)
  const atTwin = readsTwin(relation, twin)
  const seenAt = Map.groupBy([...seen, ...seenColumns] as readonly AnyGrant[], keyOf)
  const holders = new Set([...seen, ...seenColumns].map(({ grantee }) => grantee))
  const pinned = new Set(guard.pins.map(({ number }) => number))
  const isHidden = (column: number) => guard.hidesAll || pinned.has(column)
  const recordedAt = Map.groupBy([...guard.grants, ...guard.columnGrants] as readonly AnyGrant[], keyOf)
  /** Granted by the owner since, beside the same by others of which masking left nothing: no turn has made it. */
  const isBeside = (grant: AnyGrant) => {
    const { grantee, column, grantor } = grant
    const wholes = recordedAt.get(keyOf({ grantee })) ?? []
    const same = column === undefined ? [] : (recordedAt.get(keyOf(grant)) ?? [])
    const isByOther = (one: Grant) => one.grantor !== owner && !wasExempt(grantee)
    return (
      grantor === owner &&
      wholes.length + same.length > 0 &&
      (column === undefined || isHidden(column)) &&
      (grantee === null || !guard.lent.includes(grantee)) &&
      wholes.every((one) => isByOther(one) && typeof one.left === 'number') &&
      same.every((one) => isByOther(one) && one.left === false)
    )
  }
  /** The same grant, by the owner as a turn makes it, or by its grantor as it was. */
  const find = (grant: AnyGrant) =>
    (seenAt.get(keyOf(grant)) ?? []).filter(
      (one) => (one.grantor === owner || one.grantor === grant.grantor) && !isBeside(one),
    )

  const open = new Set(relation.columns.map(({ number }) => number).filter((number) => !isHidden(number)))
  /** The open columns that were left of a grant of the whole, each with the grants of the owner that are seen of it. */
  const listLeft = ({ grantee, left }: Grant) =>
    [...open]
      .filter((column) => typeof left === 'number' && column <= left)
      .map((column) => (seenAt.get(keyOf({ grantee, column })) ?? []).filter((one) => one.grantor === owner))
  const traceRest = (grant: Grant): Trace => {
    const columns = listLeft(grant)
    if (columns.length > 0)
      return {
        isThere: columns.every((some) => some.length > 0),
        mayPassOn: columns.every((some) => some.some(isGrantable)),
      }
    if (guard.hidesAll || typeof grant.left === 'number') {
      const isThere = !twin || twin.grants.some(({ grantee }) => grantee === grant.grantee)
      return { isThere, mayPassOn: mayAtTwin(atTwin, grant) }
    }
    const mayPassOn = [...seen, ...seenColumns].some((one) => one.grantee === grant.grantee && one.grantable)
    return { isThere: holders.has(grant.grantee), mayPassOn }
  }
  const traceWhole = (grant: Grant): Trace => {
    const own = find(grant)
    const [isThere, isPassedOn] = [own.length > 0, own.some(isGrantable)]
    if (hasStood(grant, wasExempt)) return { isThere, mayPassOn: isPassedOn }
    const rest = traceRest(grant)
    // A GRANT without the option revokes none. Where neither open columns nor a twin tell of the option, it ends.
    const isTold = twin !== undefined || listLeft(grant).length > 0
    const mayPassOn = isPassedOn || (isTold && rest.isThere && rest.mayPassOn)
    return isThere ? { isThere, mayPassOn } : rest
  }
  const optionOfWhole = new Set(guard.grants.filter(isGrantable).map(({ grantee }) => grantee))
  const wholes = guard.grants.flatMap((grant) => {
    const { isThere, mayPassOn } = traceWhole(grant)
    const isNew = !optionOfWhole.has(grant.grantee) && find(grant).some(isGrantable)
    return isThere ? [{ ...grant, grantable: grant.grantable ? mayPassOn : isNew }] : []
  })
  const known = new Set<string | null>([...wholes.map(({ grantee }) => grantee), ...guard.lent])
  const grants = [...wholes, ...seen.filter((grant) => isBeside(grant) || !known.has(grant.grantee))]

  const recordedOptions = new Set(guard.columnGrants.filter(isGrantable).map(keyOf))
  const mayBe = (grant: ColumnGrant) =>
    grant.grantable || (!recordedOptions.has(keyOf(grant)) && !optionOfWhole.has(grant.grantee))
  const isTraced = (grant: ColumnGrant) => !isHidden(grant.column) || hasStood(grant, wasExempt)
  const traced = guard.columnGrants.filter(isTraced).flatMap((grant) => {
    const own = find(grant)
    return own.length === 0 ? [] : [{ ...grant, grantable: mayBe(grant) && own.some(isGrantable) }]
  })
  // A role that lost an open column, or its option, by hand lost the masked ones of the same grantor too: they leave no trace of which
  // were meant.
  const shown = [...guard.grants, ...guard.columnGrants.filter(({ column }) => open.has(column))]
  const left = [...wholes, ...traced]
  const isLost = findLost(shown, left, owner)
  const isOptionLost = findLost(shown.filter(isGrantable), left.filter(isGrantable), owner)
  const untraced = guard.columnGrants
    .filter((grant) => !isTraced(grant))
    .flatMap((grant) => {
      const [own, there] = [find(grant), atTwin(grant)]
      const isLeft = there?.length !== 0 && (guard.hidesAll || !isLost(grant))
      const isOption = isLeft && (guard.hidesAll || !isOptionLost(grant))
      if (own.length === 0)
        return isLeft
          ? [{ ...grant, grantable: grant.grantable && isOption && mayAtTwin(atTwin, grant) }]
          : []
      const isHeld = grant.grantable && isOption && there?.some(isGrantable) === true
      return [{ ...grant, grantable: (mayBe(grant) && own.some(isGrantable)) || isHeld }]
    })
  const columnGrants = [...traced, ...untraced]
  const whole = new Set<string | null>([...grants.map(({ grantee }) => grantee), ...guard.lent])
  const knownColumns = new Set(columnGrants.map(keyOf))
  const byHand = seenColumns.filter(
    (grant) => isBeside(grant) || (!whole.has(grant.grantee) && !knownColumns.has(keyOf(grant))),
  )
  return { grants, columnGrants: [...columnGrants, ...byHand] }
}

const keyOf = ({ grantee, column }: Pick<AnyGrant, 'grantee' | 'column'>) => JSON.stringify([grantee, column])
const isGrantable = ({ grantable }: Grant) => grantable

const fromOf = ({ grantee, grantor }: Grant) => JSON.stringify([grantee, grantor])

/**
 * Says whether a grant ends with former grants that are not among the latter. What another role revokes ends none by this one. But the
 * owner's REVOKE also ends what others had granted, so a grant by the owner needs another one that shows that the owner revoked nothing.
 */
function findLost(former: readonly AnyGrant[], latter: readonly AnyGrant[], owner: string) {
  const idOf = (grant: AnyGrant) => JSON.stringify([keyOf(grant), grant.grantor])
  const there = new Set(latter.map(idOf))
  const missing = former.filter((grant) => !there.has(idOf(grant)))
  const [lost, left] = [new Set(missing.map(fromOf)), new Set(latter.map(fromOf))]
  const losers = new Set(missing.map(({ grantee }) => grantee))
  return (grant: Grant) =>
    lost.has(fromOf(grant)) ||
    (grant.grantor === owner && losers.has(grant.grantee) && !left.has(fromOf(grant)))
}

function findTwin({ twin }: Guard, twins: ReadonlyMap<string, ObservedTwin>): ObservedTwin | undefined {
  return twin && !twin.isClosed ? twins.get(quoteQualified(twin.schema, twin.name)) : undefined
}

/** Returns the grants of the twin to the grantee; undefined: the twin is not there, or has no such column. */
type AtTwin = (grant: AnyGrant) => readonly Grant[] | undefined

function readsTwin({ columns }: Relation, twin: ObservedTwin | undefined): AtTwin {
  // Columns of a twin are in the order of the relation's; of one that is not there yet it tells nothing.
  const nameOf = new Map(columns.map(({ number }, at) => [number, twin?.columns[at]?.name]))
  return ({ grantee, column }) => {
    const name = column === undefined ? undefined : nameOf.get(column)
    if (!twin || (column !== undefined && name === undefined)) return undefined
    const there = twin.columnGrants.filter((one) => name === undefined || one.column === name)
    return [...twin.grants, ...there].filter((one) => one.grantee === grantee)
  }
}

/** Without a grant at the twin there is nothing that an option could have been revoked of. */
function mayAtTwin(atTwin: AtTwin, grant: AnyGrant): boolean {
  const there = atTwin(grant) ?? []
  return there.length === 0 || there.some(isGrantable)
}
