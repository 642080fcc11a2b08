import { quoteIdentifier, quoteLiteral, quoteQualified } from '../../db/quote.ts'
import type { MaskRecord, Oid, Privilege } from '../model.ts'

const json = (value: unknown) => `${quoteLiteral(JSON.stringify(value))}::jsonb`

/** Commits with the change that it describes. */
export function writeRecord(
  schema: string,
  { oid, before, pins }: Pick<MaskRecord, 'oid' | 'before' | 'pins'>,
  granted: readonly Privilege[],
  hidesAll: boolean,
): string {
  return `INSERT INTO ${quoteQualified(schema, 'relation')} (oid, pins, hides_all, before, granted)
    VALUES (${oid}, ${json(pins)}, ${hidesAll}, ${json(before)}, ${json(granted)})
    ON CONFLICT (oid) DO UPDATE SET before = excluded.before, granted = excluded.granted, pins = excluded.pins,
      hides_all = excluded.hides_all, updated_at = now()`
}

const update = (schema: string, oid: Oid, values: string) =>
  `UPDATE ${quoteQualified(schema, 'relation')} SET ${values} WHERE oid = ${oid}`

/** `refused`: what it cannot be made from, and is not tried again from for a while. */
export const writeNoTwin = (schema: string, oid: Oid, refused: string | null) =>
  update(
    schema,
    oid,
    `twin_oid = NULL, twin = NULL, basis = ${refused === null ? 'NULL' : quoteLiteral(refused)}, updated_at = now()`,
  )

/** Commits with the grants on the twin: what is missing there by the next turn was revoked by hand. */
export function writeTwin(schema: string, oid: Oid, twin: { schema: string; name: string; basis: string }) {
  const name = quoteLiteral(quoteQualified(twin.schema, twin.name))
  return update(
    schema,
    oid,
    `twin_oid = ${name}::regclass, twin = ${json({ schema: twin.schema, name: twin.name })},
    basis = ${quoteLiteral(twin.basis)}, updated_at = now(), opened_at = now(),
    twin_rule = (SELECT w.oid || '/' || w.xmin FROM pg_rewrite w
      WHERE w.ev_class = ${name}::regclass AND w.rulename = '_RETURN')`,
  )
}

/** Of a twin that is kept. */
export const writeOpened = (schema: string, oid: Oid) => update(schema, oid, 'opened_at = now()')

/** The grants of a twin are not those that a turn left. */
export const forgetTwinRule = (schema: string, oid: Oid) => update(schema, oid, 'twin_rule = NULL')

export const forget = (schema: string, oid: Oid) =>
  `DELETE FROM ${quoteQualified(schema, 'relation')} WHERE oid = ${oid}`

export const writeTwinOwner = (schema: string, served: Oid, name: string) =>
  `INSERT INTO ${quoteQualified(schema, 'twin_owner')}
    VALUES (${served}, ${quoteLiteral(quoteIdentifier(name))}::regrole)
    ON CONFLICT (served) DO UPDATE SET role = excluded.role`

export function writeShadow(schema: string, source: string, shadow: string): string {
  const oid = (name: string) => `${quoteLiteral(quoteIdentifier(name))}::regnamespace`
  return `INSERT INTO ${quoteQualified(schema, 'shadow')} VALUES (${oid(source)}, ${oid(shadow)})
    ON CONFLICT (source) DO UPDATE SET shadow = excluded.shadow`
}
