import type { MaskFacts } from '../contracts/verdict.ts'
import type { Sql } from '../db/sql.ts'
import type { RoleGraph } from './role-graph.ts'

/** A database as the queries of the reasons see it. */
export interface Scene extends MaskFacts {
  readonly sql: Sql
  /** `150014` */
  readonly version: number
  readonly graph: RoleGraph
  /** The masked relations, with partitions, children and parents. */
  readonly parts: readonly number[]
  /** The roles that get a verdict: not exempt, not ours, not PostgreSQL's own. */
  readonly judged: readonly number[]
  /** Roles whose rights lead to raw values: code that runs as one of them reads these. */
  readonly seers: readonly number[]
  /** Exempt or ours: they get no verdict. */
  readonly trusted: ReadonlySet<number>
  /** To reach one of these, or a superuser, is a reason by itself: ways through it do not count. */
  readonly stops: ReadonlySet<number>
  /** The login roles of people. */
  readonly mapped: ReadonlySet<number>
}

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
