import { isIP } from 'node:net'
import { resolve } from 'node:path'

/** A setting of the environment. */
export interface Setting<T> {
  readonly doc: string
  /** As it would stand in the environment; undefined: unset. */
  readonly default: string | undefined
  readonly allowed: string
  /** The value never appears in a message. */
  readonly secret?: true
  /** Returns undefined for a value that is not allowed. */
  readonly read: (text: string) => T | undefined
}

export const port = (preset: string, doc: string): Setting<number> => ({
  doc,
  default: preset,
  allowed: 'a number from 0 to 65535; 0 picks a free port',
  read: (text) => (/^\d{1,5}$/.test(text) && Number(text) <= 65535 ? Number(text) : undefined),
})

export const flag = (preset: '0' | '1', doc: string): Setting<boolean> => ({
  doc,
  default: preset,
  allowed: '0 or 1',
  read: (text) => (text === '1' ? true : text === '0' ? false : undefined),
})

export const whole = (preset: string, min: number, max: number, doc: string): Setting<number> => ({
  doc,
  default: preset,
  allowed: `a whole number from ${min} to ${max}`,
  read: (text) => {
    const value = /^\d{1,10}$/.test(text) ? Number(text) : Number.NaN
    return value >= min && value <= max ? value : undefined
  },
})

export const file = (doc: string): Setting<string | undefined> => ({
  doc,
  default: undefined,
  allowed: 'the path of a file',
  read: (text) => (text.includes('\0') ? undefined : resolve(text)),
})

export const list = (text: string) =>
  text
    .split(',')
    .map((item) => item.trim())
    .filter(Boolean)

function isNetwork(text: string): boolean {
  const [address = '', prefix = '0', ...more] = text.split('/')
  const family = isIP(address)
  return (
    family !== 0 &&
    more.length === 0 &&
    /^\d{1,3}$/.test(prefix) &&
    Number(prefix) <= (family === 4 ? 32 : 128)
  )
}

export const directory = (doc: string): Setting<string | undefined> => ({
  ...file(doc),
  allowed: 'the path of a directory',
})

export const networks = (doc: string): Setting<readonly string[]> => ({
  doc,
  default: '',
  allowed: 'IP addresses or networks separated by commas',
  read: (text) => (list(text).every(isNetwork) ? list(text) : undefined),
})

export function readUrl(text: string, protocols: readonly string[]): string | undefined {
  // A database may be at one of several hosts, which a URL cannot name: the first stands for all.
  const url = URL.parse(text.replace(/^(postgres\w*:\/\/(?:[^/?#]*@)?[^,/?#]*),[^/?#]*/, '$1'))
  return url && protocols.includes(url.protocol) && url.hostname !== '' ? text : undefined
}
