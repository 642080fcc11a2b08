import type { MaskFacts } from '../contracts/verdict.ts'
import type { Sql } from '../db/sql.ts'
import { readingRoles } from '../masks/names.ts'
import { findMembers, type RoleGraph } from './role-graph.ts'

/** A row of a query: one object that makes a role one that is not contained. */
export interface Found {
  readonly code: string
  /** The OID of the role; 0: PUBLIC. */
  readonly holder: number
  /** As SQL writes it: `public.person`. */
  readonly object: string
  readonly oid?: number
  /** The word of SQL for its kind, where a statement takes one: `FOREIGN TABLE`. */
  readonly word?: string
  /** What depends on the object, or the role that granted the privilege where that is not the owner. */
  readonly by?: string | null
}

export const isRelation = ({ code }: Found) => code === 'RelationOwner'

/** A database as the queries of the reasons see it. */
export type Scene = ReturnType<typeof setScene>

export function setScene(sql: Sql, graph: RoleGraph, facts: MaskFacts, owned: readonly Found[]) {
  const { self, exempt, twinOwners } = facts
  const parts = owned.filter(isRelation)
  const trusted = new Set([self, ...exempt, ...twinOwners])
  const roles = [...graph.roles.values()]
  const superusers = roles.filter(({ superuser }) => superuser).map(({ oid }) => oid)
  const readers = roles.filter(({ name }) => readingRoles.includes(name)).map(({ oid }) => oid)
  const sources = [...new Set([...trusted, ...superusers, ...readers, ...parts.map(({ holder }) => holder)])]
  const judged = roles.filter(({ oid, name }) => !trusted.has(oid) && !name.startsWith('pg_'))
  return {
    ...{ ...facts, sql, graph, version: graph.version },
    /** Exempt or ours: they get no verdict, nor do PostgreSQL's own. */
    trusted,
    judged: judged.map(({ oid }) => oid),
    /** The masked relations, with partitions, children and parents. */
    parts: parts.map(({ oid = 0 }) => oid),
    /** Roles whose rights lead to raw values: code that runs as one of them reads these. */
    seers: [...new Set([...sources, ...findMembers(graph, sources).keys()])],
    /** To reach one of these is a reason by itself: ways through it do not count. */
    stops: new Set([...trusted, ...superusers]),
    /** The login roles of people. */
    mapped: new Set(facts.logins),
  }
}
