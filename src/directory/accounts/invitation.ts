import { randomInt } from 'node:crypto'

/** Letters and digits that no person mistakes for another: an invitation may be read out. */
const letters = 'abcdefghjkmnpqrstuvwxyz'
const alphabet = `${letters}${letters.toUpperCase()}23456789`

const groups = 5
const groupLength = 4

/** A password of five groups of four characters, about 115 bits, beyond guessing while it is valid. */
export function makeInvitation(): string {
  const characters = Array.from({ length: groups * groupLength }, () => alphabet[randomInt(alphabet.length)])
  return Array.from({ length: groups }, (_, at) =>
    characters.slice(at * groupLength, (at + 1) * groupLength).join(''),
  ).join('-')
}

export const invitationHours = { usual: 72, most: 720 } as const

export function invitationEnd(hours: number = invitationHours.usual): Date {
  return new Date(Date.now() + hours * 60 * 60 * 1000)
}
