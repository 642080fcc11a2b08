import { t } from '../../texts/index.ts'

/** What the default mask shows in a column of a type, as PostgreSQL spells it; the service has the same table. */
const samples: readonly (readonly [RegExp, string])[] = [
  [/\[\]$/, '{}'],
  [/^(text|citext|name|character)/, 'XXXX'],
  [/^"char"$/, 'X'],
  [/^(smallint|integer|bigint|numeric|real|double precision|oid)/, '0'],
  [/^money/, '$0.00'],
  [/^boolean/, 'false'],
  [/^date$/, '1900-01-01'],
  [/^timestamp.* with time zone/, '1900-01-01 00:00:00+00'],
  [/^timestamp/, '1900-01-01 00:00:00'],
  [/^time.* with time zone/, '00:00:00+00'],
  [/^time/, '00:00:00'],
  [/^interval/, '00:00:00'],
  [/^uuid/, '00000000-0000-0000-0000-000000000000'],
  [/^jsonb?$/, '{}'],
  [/^inet/, '0.0.0.0'],
  [/^cidr/, '0.0.0.0/32'],
  [/^bytea/, '\\x00'],
]

/** The default mask in words for a column: with its value, where the type has a usual one. */
export function describeDefault(type: string): string {
  const value = samples.find(([form]) => form.test(type))?.[1]
  if (value === undefined) return t.data.functionHints.Default
  const width = /^character.*\((\d+)\)/.exec(type)?.[1]
  return t.data.defaultHint(width === undefined ? value : value.slice(0, Number(width)), type)
}
