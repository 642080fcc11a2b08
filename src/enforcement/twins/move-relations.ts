import { parseSync } from 'libpg-query'

interface RangeVar {
  readonly schemaname?: string
  readonly relname: string
  readonly location?: number
  /** Not with ONLY. */
  readonly inh?: boolean
}

interface TypeName {
  readonly names?: readonly { readonly String: { readonly sval: string } }[]
  readonly location?: number
}

/**
 * Moves the relations that a query reads to other names, by splicing the text where PostgreSQL's own parser says that
 * they stand. Everything else stays to the letter. `choose` gets the name as written and returns the new one, quoted.
 */
export function moveRelations(
  text: string,
  choose: (schema: string | undefined, name: string, isOnly: boolean) => string | undefined,
): string {
  const splices: { from: number; to: number; text: string }[] = []
  const bytes = Buffer.from(text)
  // Rows of a relation are of a type of its name, which has to move along.
  visit(parseSync(text), (range) => {
    const target = choose(range.schemaname, range.relname, range.inh !== true)
    if (target === undefined) return
    const from = range.location ?? 0
    splices.push({ from, to: endOfName(bytes, from, range.schemaname === undefined ? 1 : 2), text: target })
  })
  splices.sort((a, b) => b.from - a.from)
  return splices
    .reduce(
      (done, { from, to, text }) =>
        Buffer.concat([done.subarray(0, from), Buffer.from(text), done.subarray(to)]),
      bytes,
    )
    .toString()
}

function visit(node: unknown, found: (range: RangeVar) => void): void {
  if (Array.isArray(node)) for (const item of node) visit(item, found)
  else if (node !== null && typeof node === 'object')
    for (const [key, value] of Object.entries(node)) {
      if (key === 'RangeVar') found(value as RangeVar)
      if (key === 'typeName' || key === 'TypeName') found(rowTypeOf(value as TypeName))
      visit(value, found)
    }
}

function rowTypeOf({ names = [], location = 0 }: TypeName): RangeVar {
  const parts = names.map(({ String: part }) => part.sval)
  const [schemaname, relname = ''] = parts.length === 2 ? parts : [undefined, '']
  return { relname, location, inh: true, ...(schemaname === undefined ? {} : { schemaname }) }
}

const quote = 0x22
const dot = 0x2e

/** Where a name of so many parts ends. The text is PostgreSQL's own: no spaces or comments inside names. */
function endOfName(bytes: Buffer, from: number, parts: number): number {
  let at = from
  for (let part = 0; part < parts; part++) {
    if (part > 0 && bytes[at] === dot) at++
    if (bytes[at] === quote) {
      at++
      while (at < bytes.length && (bytes[at] !== quote || bytes[at + 1] === quote))
        at += bytes[at] === quote ? 2 : 1
      at++
    } else while (at < bytes.length && isNameByte(bytes[at] ?? 0)) at++
  }
  return at
}

function isNameByte(byte: number): boolean {
  return (
    byte >= 0x80 ||
    byte === 0x5f ||
    byte === 0x24 ||
    (byte >= 0x30 && byte <= 0x39) ||
    (byte >= 0x41 && byte <= 0x5a) ||
    (byte >= 0x61 && byte <= 0x7a)
  )
}
