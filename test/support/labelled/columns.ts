import { quoteIdentifier } from '../../../src/db/quote.ts'
import type { Sql } from '../../../src/db/sql.ts'
import { labelledSchemas, laterSchemas } from './schemas.ts'

export interface LabelledColumn {
  readonly table: string
  readonly column: string
  readonly type: string
  /** Null: nothing sensitive. */
  readonly kind: string | null
  /** What its rows hold. */
  readonly content: string
  readonly isLater: boolean
}

export const labelledColumns: readonly LabelledColumn[] = [
  ...parse(labelledSchemas, false),
  ...parse(laterSchemas, true),
]

function parse(schemas: string, isLater: boolean): LabelledColumn[] {
  let table = ''
  return schemas.split('\n').flatMap((line) => {
    const [name = '', type = '', label = '', content = ''] = line.trim().split(/\s+/)
    if (name === '') return []
    if (!line.startsWith(' ')) {
      table = name
      return []
    }
    const kind = label === '-' ? null : label
    return [{ table, column: name, type, kind, content: content || contentOf(kind, type), isLater }]
  })
}

function contentOf(kind: string | null, type: string): string {
  if (kind === 'EmailAddress') return 'emails'
  if (kind === 'PhoneNumber') return 'phones'
  if (kind === 'PaymentCard') return 'cards'
  if (kind === 'BankAccount') return 'ibans'
  if (kind === 'IpAddress') return type === 'macaddr' ? 'macs' : 'ips'
  if (kind === 'PersonName') return 'names'
  if (kind === 'NationalId' && type === 'text') return 'ssns'
  return 'word'
}

const rows = 40
const people = ['Ann Miller', 'Bob Stone', 'Zoë Kaya', 'Jan Nowak', 'Lea Roth', 'Rui Costa', 'Eva Berg']
const words = ['open', 'closed', 'blue', 'large', 'standard', 'north', 'A-17', 'n/a', 'express', '2-3 days']
const cards = [
  '4111111111111111',
  '5555555555554444',
  '378282246310005',
  '4012888888881881',
  '6011111111111117',
]
const ibans = ['DE89370400440532013000', 'GB29NWBK60161331926819', 'FR1420041010050500013M02606']
const prose = (at: number) =>
  `Parcel ${at} left on time, 12 items on shelf 4-17, delivered ${2 + (at % 5)} days later.`
const email = (at: number) =>
  `${pick(people, at)
    .split(' ')[0]
    ?.toLowerCase()
    .normalize('NFD')
    .replaceAll(/\P{ASCII}/gu, '')}${at}@example.com`
const phone = (at: number) => `+49 30 12345${10 + at}`
const pick = (list: readonly string[], at: number) => list[at % list.length] ?? ''

/** The text of one row. */
const contents: Readonly<Record<string, (at: number) => string>> = {
  emails: email,
  phones: phone,
  cards: (at) => pick(cards, at),
  ibans: (at) => pick(ibans, at),
  ssns: (at) => `${100 + at}-45-67${10 + at}`,
  ips: (at) => `10.1.${at}.7`,
  macs: (at) => `08:00:2b:01:02:${10 + at}`,
  names: (at) => pick(people, at),
  last4: (at) => String(1000 + at * 7),
  word: (at) => pick(words, at),
  words: (at) => pick(words, at),
  code: (at) => `${7_000_000 + at * 13}X`,
  codes: (at) => `SKU-${1000 + at}-${at}`,
  url: (at) => `https://shop.example/items/${at}`,
  prose,
  prosePerson: (at) =>
    at % 7 === 3 ? `${prose(at)} Write to ${email(at)} or call ${phone(at)}.` : prose(at),
  json: (at) => JSON.stringify({ theme: pick(words, at), size: at, days: [1, 5] }),
  jsonPerson: (at) => JSON.stringify({ theme: 'dark', contact: { email: email(at), since: 2020 } }),
  jsonPayer: (at) => JSON.stringify({ payer: { reply: email(at) }, ok: true }),
  jsonPhones: (at) => JSON.stringify({ kind: 'call', to: { phone: phone(at) } }),
  jsonIps: (at) => JSON.stringify({ request: { from: `10.0.${at}.1`, ms: at } }),
}

/** Creates the tables, with rows in them where `isFilled`. */
export async function createLabelled(sql: Sql, isFilled: boolean): Promise<void> {
  const tables = Map.groupBy(labelledColumns, ({ table }) => table)
  for (const [table, columns] of tables) {
    const list = columns.map(({ column, type }) => `${quoteIdentifier(column)} ${type}`)
    await sql.unsafe(`create table public.${quoteIdentifier(table)} (${list.join(', ')})`)
    if (!isFilled) continue
    const values = Array.from({ length: rows }, (_, at) =>
      Object.fromEntries(columns.flatMap((column) => makeValue(column, at))),
    )
    const name = `public.${quoteIdentifier(table)}`
    await sql.unsafe(
      `insert into ${name} select * from jsonb_populate_recordset(null::${name}, $json$${JSON.stringify(values)}$json$)`,
    )
  }
}

/** None for types that no judgement reads. */
function makeValue({ column, type, content }: LabelledColumn, at: number): [string, unknown][] {
  if (/^(int|numeric|float)/.test(type)) return [[column, at]]
  if (/^(bool|date|timestamptz|uuid)/.test(type)) return []
  const text = (contents[content] ?? contents.word)?.(at) ?? ''
  if (type === 'jsonb') return [[column, JSON.parse(text)]]
  if (type.endsWith('[]')) return [[column, [text, ...(at % 3 ? [] : [contents[content]?.(at + 1) ?? ''])]]]
  const width = Number(/\((\d+)\)/.exec(type)?.[1] ?? text.length)
  return [[column, text.slice(0, width)]]
}

export interface Score {
  readonly precision: number
  readonly recall: number
  readonly falseAlarms: readonly string[]
  readonly misses: readonly string[]
}

/** `all`: table.column of what was recommended. */
export function score(all: ReadonlySet<string>, columns = labelledColumns): Score {
  const found = new Set(columns.map(nameOf).filter((name) => all.has(name)))
  const misses = columns.filter((one) => one.kind !== null && !found.has(nameOf(one))).map(nameOf)
  const falseAlarms = columns.filter((one) => one.kind === null && found.has(nameOf(one))).map(nameOf)
  const sensitive = columns.filter(({ kind }) => kind !== null).length
  return {
    precision: (found.size - falseAlarms.length) / found.size,
    recall: (sensitive - misses.length) / sensitive,
    falseAlarms,
    misses,
  }
}

function nameOf({ table, column }: LabelledColumn): string {
  return `${table}.${column}`
}
