import { quoteIdentifier } from '../../db/quote.ts'
import type { Exposure, ExposureClass, MaskedRelation, Scene } from './exposure.ts'
import { joinStatements } from './role-book.ts'

/** Owners need no grant. A plain view runs with its owner's eyes, so owning one shows nothing by itself. */
export const tableOwner: ExposureClass = {
  code: 'TableOwner',
  find(scene) {
    const owned = Map.groupBy(
      scene.masked.filter(({ holdsData }) => holdsData),
      ({ owner }) => owner,
    )
    return [...owned].flatMap(([owner, relations]) => describe(scene, owner, relations))
  },
}

function describe({ book, self }: Scene, owner: string, relations: readonly MaskedRelation[]): Exposure[] {
  if (book.roles.get(owner)?.superuser) return [] // told as Superuser
  const roles = book.watchedBehind(owner)
  if (roles.length === 0) return []
  const move = roles.includes(owner)
    ? relations.map(
        ({ kind, name }) => `ALTER ${kind.toUpperCase()} ${name} OWNER TO ${quoteIdentifier(self)}`,
      )
    : []
  const cut = book.revokeMembership(owner)
  const members = roles.filter((role) => role !== owner).map(quoteIdentifier)
  return [
    {
      code: 'TableOwner',
      severity: 'high',
      objects: relations.map(({ kind, name }) => ({ kind, name })),
      roles,
      explanation: `${quoteIdentifier(owner)} owns the relation: an owner reads it without any grant, and can grant it to others.${
        members.length > 0 ? ` ${members.join(', ')} can act as the owner by membership.` : ''
      }`,
      // Once the tables are another's, being a member of the old owner does not matter.
      remedy: move.length > 0 ? joinStatements(move) : cut,
      rule: null,
    },
  ]
}

/** Members of the role that owns the twins may read what the twins read. */
export const twinOwnerMember: ExposureClass = {
  code: 'TwinOwnerMember',
  find({ book, twinOwner }) {
    const roles = book.watchedBehind(twinOwner).filter((role) => !book.roles.get(role)?.superuser)
    if (roles.length === 0) return []
    return [
      {
        code: 'TwinOwnerMember',
        severity: 'high',
        objects: [{ kind: 'role', name: quoteIdentifier(twinOwner) }],
        roles,
        explanation: `${quoteIdentifier(twinOwner)} owns the twins and reads the tables behind them for everybody; whoever can become it reads them raw.`,
        remedy: book.revokeMembership(twinOwner),
        rule: null,
      },
    ]
  },
}
