import type { Query } from '../../db/query.ts'

/** Binds databases at another port of the same host. */
export async function moveBindings(
  sql: Query,
  from: { readonly host: string; readonly port: number; readonly database: string },
  port: number,
): Promise<void> {
  await sql`
    update masked_database set binding = binding || jsonb_build_object('port', ${port}::int),
      binding_version = binding_version + 1
    where binding @> ${sql.json(from)}`
}
