import { firstPartyApplications } from '../../auth/first-party.ts'
import { fail } from '../../kernel/problem.ts'
import type { EntityWrite, WriteContext } from '../entities/entity-write.ts'
import { administrationName } from '../first-start/own-clients.ts'
import { outline, readsAs } from './resemble.ts'

const product = outline('Masquerade')
const ownNames = [
  administrationName,
  ...Object.values(firstPartyApplications).map(({ displayName }) => displayName),
].map(outline)

/**
 * Names of the product's own applications, and names that look like them, are refused for other applications: a person
 * who is asked for consent would take such an application for the product itself. Characters that turn the direction
 * of text are refused in every name: a page would show the letters in another order.
 */
export function keepOwnNames(_context: WriteContext, { verb, kind, before, changes }: EntityWrite): void {
  if (kind !== 'application' && kind !== 'servicePrincipal') return
  const name = verb === 'restore' ? before.displayName : changes.displayName
  if (typeof name !== 'string') return
  if (/\p{Bidi_Control}/u.test(name))
    fail(
      'InvalidPropertyValue',
      { property: 'displayName', resource: 'Application' },
      { target: 'displayName' },
    )
  const looks = outline(name)
  if (readsAs(looks, product, 'beginning') || ownNames.some((own) => readsAs(looks, own, 'anywhere')))
    fail('NameOfOwnClient', {}, { target: 'displayName' })
}
