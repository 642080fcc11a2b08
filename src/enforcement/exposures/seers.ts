import type { Scene } from './exposure.ts'

/** Predefined roles that read beneath or past the privileges on tables. */
const beneath = [
  'pg_read_all_data',
  'pg_read_server_files',
  'pg_write_server_files',
  'pg_execute_server_program',
]

/**
 * The roles whose rights lead to raw values: superusers, exempt roles, the role of the binding, owners of masked relations,
 * and roles that can become one of these. Code that runs as one of them reads raw values.
 */
export function listSeers({ book, self, twinOwners, masked }: Scene): string[] {
  const names = [...book.roles.keys()]
  const owners = masked.filter(({ holdsData }) => holdsData).map(({ owner }) => owner)
  const superusers = names.filter((name) => book.roles.get(name)?.superuser)
  const sources = [...new Set([...superusers, ...owners, ...beneath, self, ...twinOwners])]
  return names.filter((name) => book.isExempt(name) || sources.some((source) => book.reaches(name, source)))
}

/** Masked roles that are the owner of an object or may become it, without those that can become the other role anyway. */
export function listMakers({ book }: Scene, maker: string, other: string): string[] {
  if (book.roles.get(maker)?.superuser) return []
  return book.watchedBehind(maker).filter((role) => !book.reaches(role, other))
}
