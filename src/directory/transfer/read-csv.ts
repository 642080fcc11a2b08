import { fail } from '../../kernel/problem.ts'
import type { Json, JsonObject, Property } from '../entities/property.ts'
import { isObjectKind, resources } from '../objects/kinds/resources.ts'
import { LineError } from './split-lines.ts'

export interface CsvRecord {
  /** The line at which it begins, from 1. */
  readonly number: number
  readonly fields: readonly string[]
}

const mostLength = 4 * 1024 * 1024

/** The records of a stream of UTF-8: fields in quotes may hold commas, line breaks and doubled quotes. */
export async function* splitRecords(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<CsvRecord> {
  const decoder = new TextDecoder('utf-8', { fatal: true })
  let [number, begun, field, length] = [1, 1, '', 0]
  let fields: string[] = []
  let state: 'start' | 'plain' | 'quoted' | 'closed' = 'start'
  const take = (): CsvRecord => {
    const record = { number: begun, fields: [...fields, field] }
    ;[fields, field, state, length] = [[], '', 'start', 0]
    return record
  }
  const decode = (chunk?: Uint8Array): string => {
    try {
      return chunk ? decoder.decode(chunk, { stream: true }) : decoder.decode()
    } catch {
      throw new LineError(number, 'From here on the file is not UTF-8.')
    }
  }
  const isBlank = () => fields.length === 0 && field === '' && state === 'start'
  for await (const chunk of chunks) {
    for (const char of decode(chunk)) {
      if (++length > mostLength) throw new LineError(begun, 'The record is too long. A quote may be open.')
      if (state === 'quoted') {
        if (char === '"') state = 'closed'
        else field += char
        if (char === '\n') number++
      } else if (char === '\n') {
        number++
        if (!isBlank()) yield take()
        begun = number
      } else if (char === ',') {
        fields.push(field)
        ;[field, state] = ['', 'start']
      } else if (char === '"' && state === 'start') state = 'quoted'
      else if (char === '"' && state === 'closed') {
        field += char
        state = 'quoted'
      } else if (char !== '\r') {
        if (state === 'closed') throw new LineError(number, 'A quote ends in the middle of a field.')
        field += char
        state = 'plain'
      }
    }
  }
  decode()
  if (state === 'quoted') throw new LineError(begun, 'A quote is open at the end of the file.')
  if (!isBlank()) yield take()
}

/** The names of the columns; a mark of the encoding at their beginning is dropped. */
export function readHeader({ fields }: CsvRecord): readonly string[] {
  const names = fields.map((name) => name.replace(/^\uFEFF/, '').trim())
  const twice = names.find((name, at) => names.indexOf(name) !== at)
  if (twice !== undefined) fail('InvalidRequestContent', { reason: `The column '${twice}' is there twice.` })
  if (!names.includes('type') && guessType(names) === undefined)
    fail('InvalidRequestContent', {
      reason: "The header needs 'userPrincipalName', 'displayName', 'group' and 'member', or 'type'.",
    })
  return names
}

function guessType(names: readonly string[]): string | undefined {
  if (names.includes('userPrincipalName')) return 'user'
  if (names.includes('group') && names.includes('member')) return 'member'
  return names.includes('displayName') ? 'group' : undefined
}

/** A record as the object that a line of JSON would hold. An empty field says nothing. */
export function readRecord(names: readonly string[], { fields }: CsvRecord): JsonObject {
  if (fields.length > names.length)
    fail('InvalidRequestContent', {
      reason: `It has ${fields.length} fields, and the header ${names.length}.`,
    })
  const given = names.flatMap((name, at) => {
    const text = fields[at]?.trim() ?? ''
    return text === '' ? [] : [[name, text] as const]
  })
  const type = given.find(([name]) => name === 'type')?.[1] ?? guessType(names) ?? ''
  const properties = isObjectKind(type) ? resources[type].properties : {}
  return {
    ...Object.fromEntries(given.map(([name, text]) => [name, readField(properties[name], text)])),
    type,
  }
}

function readField(property: Property | undefined, text: string): Json {
  const type = property?.type
  if (type === 'boolean') return readFlag(text)
  if (type === 'integer') return /^-?\d{1,15}$/.test(text) ? Number(text) : text
  if (type === 'strings' || type === 'guids')
    return text
      .split(';')
      .map((item) => item.trim())
      .filter(Boolean)
  return text
}

function readFlag(text: string): Json {
  if (/^(true|yes|1)$/i.test(text)) return true
  return /^(false|no|0)$/i.test(text) ? false : text
}
