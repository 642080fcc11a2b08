import { quoteIdentifier } from '../../db/quote.ts'
import type { Exposure, ExposureClass } from './exposure.ts'

/** As the policy says, and easily forgotten: a role is exempt with all its members. */
export const exemptMember: ExposureClass = {
  code: 'ExemptMember',
  find({ book, self, twinOwner }): Exposure[] {
    const listed = new Set(book.listed)
    return book.listed.flatMap((role) => {
      const roles = book
        .loginsBehind(role)
        .filter(
          (one) => !listed.has(one) && one !== self && one !== twinOwner && !book.roles.get(one)?.superuser,
        )
      if (roles.length === 0) return []
      return {
        code: 'ExemptMember',
        severity: 'low',
        objects: [{ kind: 'role', name: quoteIdentifier(role) }],
        roles,
        explanation: `The policy exempts ${quoteIdentifier(role)}, and with it its members: ${roles.map(quoteIdentifier).join(', ')} can see raw values.`,
        remedy: book.revokeMembership(role, (member) => !listed.has(member)),
        rule: null,
      }
    })
  },
}

export const everybodyExempt: ExposureClass = {
  code: 'EverybodyExempt',
  find({ book, masked }): Exposure[] {
    if (!book.listed.some((name) => name.toLowerCase() === 'public')) return []
    return [
      {
        code: 'EverybodyExempt',
        severity: 'high',
        objects: masked.filter(({ hasRules }) => hasRules).map(({ kind, name }) => ({ kind, name })),
        roles: [],
        explanation:
          "The policy exempts 'public', which is everybody: no role sees masks. Take 'public' out of the exempt principals.",
        remedy: null,
        rule: null,
      },
    ]
  },
}
