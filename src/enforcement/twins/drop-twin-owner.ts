import { quoteIdentifier } from '../../db/quote.ts'
import type { Step } from '../plan.ts'
import type { Departure } from './read-departure.ts'

/** The owner of the twins goes with every privilege it was given. Twins that objects of others read stay, with their owner. */
export function dropTwinOwner(twinOwner: string, departure: Departure | null): Step[] {
  const owner = quoteIdentifier(twinOwner)
  const stays: Step = { sql: 'SELECT 1', why: 'objects of others read a twin' }
  const opened = departure && !departure.hasKeptTwins ? departure.opened : []
  return [
    { sql: `DROP OWNED BY ${owner}`, why: 'its schemas and privileges', as: twinOwner, orElse: stays },
    ...opened.map((name) => ({
      sql: `REVOKE ALL ON ${name} FROM ${owner}`,
      why: 'no twin reads there any more',
      orElse: { sql: 'SELECT 1', why: 'another role gave it' },
    })),
    // A role that an operator prepared is theirs to drop.
    { sql: `DROP ROLE ${owner}`, why: 'it has nothing to own', orElse: { sql: 'SELECT 1', why: 'it stays' } },
  ]
}
