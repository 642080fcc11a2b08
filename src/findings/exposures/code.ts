import type { NamedObject } from '../../contracts/inspection.ts'
import { quoteIdentifier, quoteQualified } from '../../db/quote.ts'
import { type ExposureKind, type Findings, kind } from './exposure.ts'
import { searchPath, triggerText, usesRow } from './routine-paths.ts'
import { type Routine, readersOf } from './routines.ts'
import { listMasked, listReaders } from './scene.ts'

/**
 * SECURITY DEFINER functions run with the rights of their owner. Those that name a masked relation, or call a function
 * that does, are found by what PostgreSQL records of their bodies, or in their text; those that put SQL together when
 * they run could name any.
 */
interface ReadingRoutine extends Routine {
  readonly relationName: string | undefined
  readonly roles: readonly string[]
}

const definerFunction = kind<ReadingRoutine>({
  code: 'SecurityDefinerFunction',
  severity: 'medium',
  meaning: 'a SECURITY DEFINER function reads masked data with the rights of its owner',
  read(scene) {
    const readers = readersOf(scene)
    return scene.routines.flatMap((routine) => {
      const { id, owner, isDefiner, grantees } = routine
      if (!isDefiner || !(readers.has(id) || isDynamic(routine))) return []
      return [{ ...routine, relationName: readers.get(id), roles: listReaders(scene, owner, grantees) }]
    })
  },
  describe: ({ relationName, signature, owner, grantees, ...routine }, scene) => ({
    severity: relationName ? 'high' : 'medium',
    objects: [{ kind: routine.kind, name: signature }],
    explanation: [
      `It runs with the privileges of its owner ${owner}, who sees raw values,`,
      relationName
        ? `and reads ${relationName}; its result, or its errors, reach every role that may call it.`
        : routine.isCut
          ? 'and its text is too long to be searched for masked relations.'
          : 'and makes SQL at run time: the relations that it can be made to read do not show in its text.',
    ],
    remedy: `REVOKE EXECUTE ON ROUTINE ${signature} FROM ${listMasked(scene, grantees)
      .filter((grantee) => grantee !== owner)
      .map((grantee) => (grantee === null ? 'PUBLIC' : quoteIdentifier(grantee)))
      .join(', ')} CASCADE`,
  }),
})

function isDynamic({ language, text, isCut }: Routine): boolean {
  if (isCut) return true
  if (language === 'plpgsql') return /\bexecute\b/i.test(text)
  return language !== 'sql' || /\b(query_to_xml|cursor_to_xml|table_to_xml|dblink|ts_stat)/i.test(text)
}

/** A trigger gets whole rows, raw, and may write them where every role can read them. */
const trigger = kind<{ oid: number; name: string; routine: string; text: string | null }>({
  code: 'Trigger',
  severity: 'medium',
  meaning: 'a trigger gets raw rows, and may put them elsewhere',
  async read({ sql, oids, byOid }) {
    const rows = await sql<{ oid: number; name: string; routine: string; text: string | null }[]>`
      select t.tgrelid::int8 as oid, t.tgname::text as name, p.oid::regprocedure::text as routine,
        ${triggerText(sql)} as text
      from pg_catalog.pg_trigger t join pg_catalog.pg_proc p on p.oid = t.tgfoid
      join pg_catalog.pg_language l on l.oid = p.prolang
      where not t.tgisinternal and t.tgenabled <> 'D' and (t.tgtype & 1) = 1
        and t.tgrelid = any(${oids}::oid[]) order by 1, 2`
    return rows.filter(({ oid, text }) => usesRow(text, byOid.get(oid)))
  },
  describe: ({ relation, name, routine }) => ({
    objects: [{ kind: 'trigger', name: quoteIdentifier(name) }, relation],
    explanation: [
      `The trigger runs ${routine} for each row that is written and hands it the raw values.`,
      'Look where the values go and mask them there too.',
    ],
    remedy: removeFrom(relation, 'TRIGGER', name),
  }),
})

/** PostgreSQL disables neither triggers nor rules of views. */
function removeFrom({ kind, name: relation }: NamedObject, what: 'TRIGGER' | 'RULE', name: string): string {
  const own = quoteIdentifier(name)
  return kind === 'view'
    ? `DROP ${what} ${own} ON ${relation}`
    : `ALTER TABLE ${relation} DISABLE ${what} ${own}`
}

/** A rule rewrites statements of roles; its own part runs with the rights of the relation's owner. */
const rewriteRule = kind<Findings & { rule: string; schema: string; name: string; kind: string }>({
  code: 'RewriteRule',
  severity: 'medium',
  meaning: 'a rule gets raw rows, and may put them elsewhere',
  read: ({ sql, oids, seers }) => sql`
      select w.rulename::text as rule, n.nspname::text as schema, c.relname::text as name,
        case c.relkind when 'v' then 'view' when 'f' then 'foreign table' else 'table' end as kind
      from pg_catalog.pg_rewrite w join pg_catalog.pg_class c on c.oid = w.ev_class
      join pg_catalog.pg_namespace n on n.oid = c.relnamespace join pg_catalog.pg_roles o on o.oid = c.relowner
      where w.rulename <> '_RETURN' and w.ev_enabled <> 'D' and (c.oid = any(${oids}::oid[])
        or o.rolname = any(${[...seers]}::text[]) and exists (select from pg_catalog.pg_depend d
          where d.classid = 'pg_catalog.pg_rewrite'::regclass and d.objid = w.oid
            and d.refclassid = 'pg_catalog.pg_class'::regclass and d.refobjid = any(${oids}::oid[])))
      order by 2, 3, 1`,
  describe: ({ rule, schema, name, kind: on }) => {
    const relation = { kind: on, name: quoteQualified(schema, name) }
    return {
      objects: [{ kind: 'rule', name: quoteIdentifier(rule) }, relation],
      explanation: [
        `The rule adds to, or replaces, statements on the ${on}, and runs with the privileges of its owner:`,
        'it can return or copy raw values of masked relations.',
      ],
      remedy: removeFrom(relation, 'RULE', rule),
    }
  },
})

interface PolicyRow {
  readonly oid: number
  readonly name: string
  readonly keys: readonly number[]
  readonly isPublic: boolean
  readonly meant: readonly string[]
  /** The reader may choose what the column is compared with: by a setting, a function or another relation. */
  readonly isChosen: boolean
}

/** Of a stored condition, compressed: a longer one counts as naming every column and any setting. */
const mostStoredBytes = 524_288

/**
 * Which rows a policy shows tells about the column that it reads. A condition that takes the row as a whole names no
 * column. By the stored form: PostgreSQL cannot print every condition, and locks what it reads for that.
 */
const rowPolicy = kind<PolicyRow & { roles: readonly string[] }>({
  code: 'RowPolicyOracle',
  severity: 'high',
  meaning: 'the rows that a policy over a masked column shows tell about its values',
  async read(scene) {
    const { sql, oids, byOid } = scene
    // PostgreSQL notes no dependency on its own functions.
    const named = sql`select from pg_catalog.pg_depend d
      where d.classid = 'pg_catalog.pg_policy'::regclass and d.objid = p.oid`
    const rows = await sql<PolicyRow[]>`
      select p.polrelid::int8 as oid, p.polname::text as name, 0 = any(p.polroles) as "isPublic",
        array(select rolname::text from pg_catalog.pg_roles where oid = any(p.polroles) order by 1) as meant,
        array(select a.attnum::int4 from pg_catalog.pg_attribute a where a.attrelid = p.polrelid and a.attnum > 0
          and (pg_catalog.strpos(t.tree, ':varattno 0 ') > 0 or t.tree is null
            or exists (${named} and d.refobjid = p.polrelid and d.refobjsubid = a.attnum))) as keys,
        t.tree is null or exists (${named} and d.refobjid <> p.polrelid
            and d.refclassid = any('{pg_proc,pg_class}'::regclass[]::oid[]))
          or exists (select from pg_catalog.pg_proc s where s.proname = 'current_setting'
            and pg_catalog.strpos(t.tree, ':funcid ' || s.oid || ' ') > 0) as "isChosen"
      from pg_catalog.pg_policy p join pg_catalog.pg_class c on c.oid = p.polrelid and c.relrowsecurity
      cross join lateral (select case when pg_catalog.pg_column_size(p.polqual) <= ${mostStoredBytes}
        then p.polqual::text end as tree) t
      where p.polqual is not null and p.polcmd in ('r', '*') and p.polrelid = any(${oids}::oid[]) order by 1, 2`
    return rows.map((row) => {
      const owner = byOid.get(row.oid)?.owner ?? null
      return { ...row, roles: listReaders(scene, owner, row.isPublic ? [null] : row.meant) }
    })
  },
  describe: ({ relation, column, name, isChosen }, { listed, roles }) => {
    const chosen = 'By a setting, a function or another relation the reader may choose what to compare with.'
    const kept = [...new Set([relation.owner, ...listed.filter((role) => roles.has(role))])]
    return {
      severity: isChosen ? 'high' : 'low',
      objects: [{ kind: 'policy', name: quoteIdentifier(name) }, relation],
      explanation: [
        `The policy reads the masked column ${column.name}: which rows a reader sees tells about its values.`,
        ...(isChosen ? [chosen] : []),
        'Better than the remedy, which hides these rows from masked roles: compare a column without a mask.',
      ],
      remedy: `ALTER POLICY ${quoteIdentifier(name)} ON ${relation.name} TO ${kept.map(quoteIdentifier).join(', ')}`,
    }
  },
})

export const codeKinds: readonly ExposureKind[] = [
  definerFunction,
  searchPath,
  trigger,
  rewriteRule,
  rowPolicy,
]
