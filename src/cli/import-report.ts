import { writeFile } from 'node:fs/promises'
import type { ImportCounts, ImportOutcome, Invitation } from '../directory/transfer/import-result.ts'
import { countOf } from '../kernel/count-of.ts'
import { OperatorError } from '../kernel/operator-error.ts'
import { print } from './surroundings.ts'
import { showText } from './table.ts'

export function describeOutcome(
  file: string,
  verb: string,
  { lines, created, changed, unchanged, removed }: ImportOutcome,
): string {
  const counts = [created, changed, unchanged, removed].map((count) => count.toLocaleString('en'))
  return `${file}: ${verb} ${inWords(lines)}: ${counts[0]} created, ${counts[1]} changed, ${counts[2]} unchanged, ${counts[3]} removed.\n`
}

/** Each object, member and owner that is removed, up to a limit; of the others how many there are of each kind. */
export function listRemoved({ removedNames, removedOthers }: ImportOutcome): string {
  const lines = removedNames.map((name) => `- ${showText(name)}\n`)
  const others = Object.entries(removedOthers).map(([kind, count]) => countOf(count, kind))
  return others.length > 0 ? `${lines.join('')}- and ${others.join(', ')} more\n` : lines.join('')
}

export function asCsv(invitations: readonly Invitation[]): string {
  if (invitations.length === 0) return ''
  const rows = invitations.map(
    ({ userPrincipalName, password, expirationDateTime }) =>
      `${userPrincipalName},${password},${expirationDateTime}\n`,
  )
  return `userPrincipalName,password,expirationDateTime\n${rows.join('')}`
}

/** The users are there already: where the file cannot be written, the invitations are printed. */
export async function keepInvitations(file: string, invitations: readonly Invitation[]): Promise<void> {
  try {
    await writeFile(file, asCsv(invitations), { mode: 0o600, flag: 'wx' })
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException
    print(asCsv(invitations))
    throw new OperatorError(`${file} cannot be written (${code}): the invitations are above.`, { cause })
  }
}

const nouns: readonly (readonly [name: keyof ImportCounts, one: string, many: string])[] = [
  ['object', 'object', 'objects'],
  ['member', 'membership', 'memberships'],
  ['roleMember', 'role membership', 'role memberships'],
  ['owner', 'owner', 'owners'],
  ['extension', 'extension', 'extensions'],
  ['definition', 'definition', 'definitions'],
]

function inWords(counts: ImportCounts): string {
  const words = nouns.flatMap(([name, one, many]) => {
    const count = counts[name]
    return count === 0 ? [] : [countOf(count, one, many)]
  })
  return words.join(', ') || 'nothing: it is empty'
}
