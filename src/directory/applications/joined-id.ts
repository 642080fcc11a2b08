const everyone = '00000000-0000-0000-0000-000000000000'

/** One id for a pair of objects, short enough for a path; null stands for all. */
export function joinIds(first: string, second: string | null): string {
  return Buffer.from(`${first}${second ?? everyone}`.replaceAll('-', ''), 'hex').toString('base64url')
}

/** The pair that an id was made from; undefined for anything else. */
export function splitIds(id: string): [string, string | null] | undefined {
  if (!/^[\w-]{43}$/.test(id)) return undefined
  const hex = Buffer.from(id, 'base64url').toString('hex')
  const [first = '', second = ''] = [hex.slice(0, 32), hex.slice(32)].map(withDashes)
  return [first, second === everyone ? null : second]
}

function withDashes(hex: string): string {
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')
}
