import { aclEntries } from './acl-entries.ts'
import { type AclEntry, kind } from './exposure.ts'

interface SequenceRow {
  readonly oid: number
  readonly keys: readonly number[]
  readonly sequence: string
  readonly acl: readonly AclEntry[]
}

/** A sequence tells the newest value that it gave: by itself, by pg_sequences, or by the next one. */
export const sequenceValues = kind<SequenceRow>({
  code: 'SequenceValues',
  severity: 'low',
  read: ({ sql, oids }) => sql`
    select u.oid::int8 as oid, array[u.number]::int4[] as keys, s.oid::regclass::text as sequence,
      ${aclEntries(sql, sql`s.relacl`, ['SELECT', 'USAGE', 'UPDATE'])} as acl
    from (
      select d.refobjid as oid, d.refobjsubid as number, d.objid as sequence from pg_catalog.pg_depend d
      where d.classid = 'pg_catalog.pg_class'::regclass and d.refclassid = 'pg_catalog.pg_class'::regclass
        and d.deptype in ('a', 'i') and d.refobjsubid > 0 and d.refobjid = any(${oids}::oid[])
      union
      select e.adrelid, e.adnum, d.refobjid from pg_catalog.pg_attrdef e join pg_catalog.pg_depend d
        on d.classid = 'pg_catalog.pg_attrdef'::regclass and d.objid = e.oid and d.refclassid = 'pg_catalog.pg_class'::regclass
      where e.adrelid = any(${oids}::oid[])
    ) u join pg_catalog.pg_class s on s.oid = u.sequence and s.relkind = 'S' order by 1, 3`,
  describe: ({ relation, column, sequence, grantees }) => ({
    objects: [{ kind: 'sequence', name: sequence }, relation],
    explanation: `The sequence gives the masked column ${column.name} its values, and these roles may look at it: it tells the newest one. Roles that insert without a value for a serial column need USAGE; an identity column needs none.`,
    remedy: `REVOKE ${grantees.privileges.join(', ')} ON SEQUENCE ${sequence} FROM ${grantees.list} CASCADE`,
  }),
})
