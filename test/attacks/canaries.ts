import { createHash } from 'node:crypto'
import { int32 } from '../../src/wire/messages.ts'

/** A raw value of each masked column that nothing else in the database holds or resembles. */
export const canaries = {
  email: 'zqcanary-mail@leak.test',
  ssn: '914-27-8305',
  card: '4929-7316-5482-9067',
  salary: '7316549.25',
  born: '1987-06-05',
  note: 'zqcanary-note-hidden',
  profile: 'zqcanary-json',
  blob: 'zqcanary-bytes',
  token: 'c0ffee15-1ea4-4bad-8bad-5eed5eed5eed',
  tag: 'zqcanary-tag',
  phone: '+15550142867',
  wage: '8825531',
  bonus: '9914427',
} as const

/** What each mask lets through is not part of these. */
const needles = [
  'canary',
  '914-27',
  '91427',
  '4929-7316',
  '49297316',
  '7316549',
  '7.31654925',
  '1987-06-05',
  'c0ffee15',
  '15550142867',
  '8825531',
  '9914427',
]
const hashed = [canaries.email, canaries.note]

/** Everything by which a canary would be recognised: itself, backwards, in hexadecimal, in base 64, hashed. */
const traces: readonly string[] = [
  ...needles,
  ...needles.map((text) => [...text].reverse().join('')),
  ...needles.map((text) => Buffer.from(text).toString('hex')),
  ...hashed.map((text) => Buffer.from(text).toString('base64').slice(0, 20)),
  // md5 and sha256 of the two strings that cases hash.
  ...hashed.flatMap((text) => ['md5', 'sha256'].map((name) => digest(name, text))),
].map((text) => text.toLowerCase())

function digest(name: string, text: string): string {
  return createHash(name).update(text).digest('hex')
}

/** The values that are no strings, as results in binary have them: numeric in base 10,000, days from 2000 on. */
const binaryTraces: readonly Buffer[] = [
  int32(Number(canaries.wage)),
  int32(Number(canaries.bonus)),
  int32((Date.parse(canaries.born) - Date.parse('2000-01-01')) / 86_400_000),
  Buffer.from([731, 6549, 2500].flatMap((digits) => [digits >> 8, digits & 255])),
  Buffer.from(canaries.token.replaceAll('-', ''), 'hex'),
]

/** By what a text, or what went over the wire, gives a raw value away. */
export function findTrace(text: string, bytes: Buffer, tell?: RegExp): string | undefined {
  return (
    tell?.exec(text)?.[0] ??
    traces.find((trace) => text.includes(trace)) ??
    binaryTraces.find((trace) => bytes.includes(trace))?.toString('hex')
  )
}
