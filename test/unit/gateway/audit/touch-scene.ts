import type { MaskedRelation, WatchedColumn, WatchedRelation } from '../../../../src/contracts/role-masks.ts'
import { MaskMap } from '../../../../src/gateway/rewrite/mask-map.ts'
import { rewriteText } from '../../../../src/gateway/rewrite/rewrite.ts'

const columns: Record<string, string[]> = {
  customers: ['id', 'name', 'email', 'phone'],
  staff: ['sid', 'email', 'pay'],
  people: ['id', 'home'],
}
const column = (table: string, attribute: string, isRaw = false): WatchedColumn => ({
  column: `public.${table}.${attribute}`,
  attribute,
  isRaw,
})
const table = (name: string, masked: string[], isRaw: boolean, schema = 'public'): WatchedRelation => ({
  schema,
  name,
  attributes: columns[name] ?? [],
  masked: masked.map((attribute) => column(name, attribute, isRaw && schema === 'public')),
  shows: [],
})
const watched = (isRaw: boolean): WatchedRelation[] => [
  table('customers', ['email', 'phone'], isRaw),
  table('customers', ['email', 'phone'], isRaw, 'masked_public'),
  table('staff', ['email', 'pay'], isRaw),
  table('people', ['home'], isRaw),
  {
    schema: 'public',
    name: 'adults',
    attributes: ['id', 'email'],
    masked: [],
    shows: [column('customers', 'email', isRaw)],
  },
]
const moved = (name: string, hasChildren = false): MaskedRelation => ({
  schema: 'public',
  name,
  twin: { schema: 'masked_public', name },
  columns: columns[name] ?? [],
  hasChildren,
  key: [],
  dependent: [],
})
const homonyms = [
  ...watched(false).map(({ schema, name }) => ({ schema, name })),
  { schema: 'sales', name: 'customers' },
]
const relations = [moved('customers'), moved('staff', true), moved('people'), moved('adults')]
export const maskedRole = new MaskMap({ relations, homonyms, watched: watched(false) })
/** Masked, and may become a role that is exempt. */
export const changingRole = new MaskMap({ relations, homonyms, watched: watched(true) })
export const exemptRole = new MaskMap({ relations: [], homonyms, watched: watched(true) })

export function look(masks: MaskMap, text: string, path = ['public']) {
  const names = { masks, database: 'shop', path, hidden: new Set<string>() }
  return rewriteText(Buffer.from(text), names)
}

export function touched(masks: MaskMap, text: string, path?: string[]): Set<string> {
  const found = look(masks, text, path).effects.flatMap(({ touch }) => touch ?? [])
  return new Set([
    ...found.flatMap(({ masked }) => masked),
    ...found.flatMap(({ raw }) => raw.map((each) => `raw ${each}`)),
    ...found.flatMap(({ written }) => written.map((each) => `>${each}`)),
    ...(found.some(({ isUnparsed }) => isUnparsed) ? ['!'] : []),
  ])
}

export function wanted(short: string): Set<string> {
  const words = short.split(' ').filter(Boolean)
  return new Set(
    words
      .flatMap((word) => (word === '*' ? ['email', 'phone'] : [word]))
      .map((word) => {
        const [, sign, name = ''] = /^([>!]?)(.*)$/.exec(word) ?? []
        return name === '' ? '!' : `${sign}public.${name.includes('.') ? name : `customers.${name}`}`
      }),
  )
}
