import type { NamedObject } from '../../contracts/inspection.ts'
import { quoteIdentifier, quoteQualified } from '../../db/quote.ts'
import { findMaskedGrantees, revokeFrom } from './acl-entries.ts'
import {
  type ExposureKind,
  type Findings,
  kind,
  type MaskedRelation,
  type Routine,
  type Scene,
} from './exposure.ts'
import type { AclEntry } from './revoke-remedy.ts'
import { readersOf } from './routines.ts'
import { judgePaths, type PathReason, pathReasons, type TextRoutine } from './search-paths.ts'
import { readUses, triggerText, usesRow } from './used-routines.ts'

interface DefinerRow extends Routine {
  readonly signature: string
  readonly acl: readonly AclEntry[]
  readonly relationName: string | undefined
}

/**
 * SECURITY DEFINER functions run with the rights of their owner. Those that name a masked relation, or call a function
 * that does, are found by what PostgreSQL records of their bodies, or in their text; those that put SQL together when
 * they run could name any.
 */
const definerFunction = kind<DefinerRow>({
  code: 'SecurityDefinerFunction',
  severity: 'medium',
  meaning: 'a SECURITY DEFINER function reads masked data with the rights of its owner',
  read(scene) {
    const readers = readersOf(scene)
    return scene.routines.flatMap((routine) => {
      const { id, definerOf } = routine
      if (!definerOf || !(readers.has(id) || isDynamic(routine))) return []
      return [{ ...routine, ...definerOf, relationName: readers.get(id) }]
    })
  },
  describe: ({ relationName, signature, owner, grantees, ...routine }) => ({
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
    remedy: revokeFrom(grantees, `ROUTINE ${signature}`),
  }),
})

function isDynamic({ language, text, isCut }: Routine): boolean {
  if (isCut) return true
  if (language === 'plpgsql') return /\bexecute\b/i.test(text)
  return language !== 'sql' || /\b(query_to_xml|cursor_to_xml|table_to_xml|dblink|ts_stat)/i.test(text)
}

/**
 * Names in a body in text are looked up when it runs, by the session's search path unless the function sets its own. A
 * masked role that chooses the path, or may create objects in a schema of it, chooses the functions, operators, types
 * and tables.
 */
const searchPath = kind<{
  reason: PathReason
  routines: readonly string[]
  remedy: string
  roles: readonly string[]
}>({
  code: 'RoutineSearchPath',
  severity: 'high',
  meaning: 'a function runs with raw values, and finds names by a path where masked roles have objects',
  async read(scene) {
    const found = await judgePaths(scene, [...listDefiners(scene), ...(await readUses(scene))])
    // One for all functions of a reason: there may be thousands.
    return [...Map.groupBy(found, ({ reason }) => reason)].map(([reason, same]) => ({
      reason,
      roles: scene.book.watched,
      routines: same.map(({ signature }) => signature),
      remedy: same.map((one) => one.remedy).join(';\n'),
    }))
  },
  describe: ({ reason, routines, remedy }) => ({
    severity: reason === 'temporary' ? 'medium' : 'high',
    objects: routines.map((name) => ({ kind: 'routine', name })),
    explanation: [
      'With the rights of a role that sees raw values, or with raw values of a masked relation that it belongs to,',
      `names in the text are looked up at run time, ${pathReasons[reason]}`,
      'Code of masked roles that is found there gets the same. The remedy sets a path that these roles cannot',
      'change; names in other schemas have to be qualified.',
    ],
    remedy,
  }),
})

/** Those that masked roles can have run, and that are text or call text that finds names by the same path. */
function listDefiners(scene: Scene): TextRoutine[] {
  const loose = new Set(scene.routines.filter((one) => one.isText && one.path === null).map(({ id }) => id))
  return scene.routines.flatMap(({ definerOf, isText, calls, owner, schema, path }) => {
    if (!definerOf || !(isText || calls.some((id) => loose.has(id)))) return []
    const isRun = definerOf.isFired || findMaskedGrantees(scene, definerOf.acl, owner) !== null
    return isRun ? [{ signature: definerOf.signature, schema, path }] : []
  })
}

/** Views that show raw values with the rights of their owners, and that the role of the binding may not manage. */
const listUnmanagedViews = ({ unmanaged }: Scene) => unmanaged.filter(({ holdsData }) => !holdsData)

interface TriggerRow extends Findings {
  readonly relation: MaskedRelation
  readonly name: string
  readonly routine: string
}

/** A trigger gets whole rows, raw, and may write them where every role can read them. */
const trigger = kind<TriggerRow>({
  code: 'Trigger',
  severity: 'medium',
  meaning: 'a trigger gets raw rows, and may put them elsewhere',
  async read(scene) {
    const relations = new Map([...scene.masked, ...listUnmanagedViews(scene)].map((one) => [one.oid, one]))
    const rows = await scene.sql<{ oid: number; name: string; routine: string; text: string | null }[]>`
      select t.tgrelid::int8 as oid, t.tgname::text as name, p.oid::regprocedure::text as routine,
        ${triggerText(scene.sql)} as text
      from pg_catalog.pg_trigger t join pg_catalog.pg_proc p on p.oid = t.tgfoid
      join pg_catalog.pg_language l on l.oid = p.prolang
      where not t.tgisinternal and t.tgenabled <> 'D' and (t.tgtype & 1) = 1
        and t.tgrelid = any(${[...relations.keys()]}::oid[]) order by 1, 2`
    return rows.flatMap(({ oid, text, ...row }) => {
      const relation = relations.get(oid)
      return relation && usesRow(text, relation) ? [{ ...row, relation }] : []
    })
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

interface RuleRow extends Findings {
  readonly rule: string
  readonly schema: string
  readonly name: string
  readonly kind: string
}

/** A rule rewrites statements of roles; its own part runs with the rights of the relation's owner. */
const rewriteRule = kind<RuleRow>({
  code: 'RewriteRule',
  severity: 'medium',
  meaning: 'a rule gets raw rows, and may put them elsewhere',
  read(scene) {
    const { sql, oids, book } = scene
    const known = [...oids, ...listUnmanagedViews(scene).map(({ oid }) => oid)]
    return sql`
      select w.rulename::text as rule, n.nspname::text as schema, c.relname::text as name,
        case c.relkind when 'v' then 'view' when 'f' then 'foreign table' else 'table' end as kind
      from pg_catalog.pg_rewrite w join pg_catalog.pg_class c on c.oid = w.ev_class
      join pg_catalog.pg_namespace n on n.oid = c.relnamespace join pg_catalog.pg_roles o on o.oid = c.relowner
      where w.rulename <> '_RETURN' and w.ev_enabled <> 'D' and (c.oid = any(${known}::oid[])
        or o.rolname = any(${[...book.seers]}::text[]) and exists (select from pg_catalog.pg_depend d
          where d.classid = 'pg_catalog.pg_rewrite'::regclass and d.objid = w.oid
            and d.refclassid = 'pg_catalog.pg_class'::regclass and d.refobjid = any(${known}::oid[])))
      order by 2, 3, 1`
  },
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

export const codeKinds: readonly ExposureKind[] = [definerFunction, searchPath, trigger, rewriteRule]
