import type { Waiting } from '../../sessions/in-the-way.ts'
import type { MaskRecord, Masks, Oid, Privilege, Relation, Statement } from '../model.ts'
import type { Shows } from './follow-hidden.ts'

/** What a turn does about one relation, or about a role or schema of twins. All closings come before any opening. */
export interface Group {
  /** The relation; the name of the role or schema. Others need it by this key. */
  readonly key: Oid | string
  /** `public.people` */
  readonly target: string
  readonly close: readonly Statement[]
  /** Where closings commit alone: the twin from before may show what is hidden now. */
  readonly closeTwin: readonly Statement[]
  readonly open: readonly Statement[]
  /** What the twin stands on: its role and schema, and relations that it reads, on whose locks it waits. */
  readonly needs: readonly (Oid | string)[]
}

/** The twin that a relation is to have. */
export interface TwinPlan {
  readonly schema: string
  readonly name: string
  /** The role that owns it, and that reads what it reads. */
  readonly owner: string
  /** Null: the role is not there yet. */
  readonly ownerOid: Oid | null
  /** Of its columns; null: those of its definition. */
  readonly types: readonly string[] | null
  readonly select: string
  /** Null: its definition is not known yet. */
  readonly shows: Shows | null
  /** Differs whenever the twin has to be made again. That of a view ends with what it shows: `9f86d081884c7d65:2,5`. */
  readonly basis: string
  readonly grants: readonly Privilege[]
  /** `itself` or `definition`: what its dependencies are compared with. */
  readonly by: 'itself' | 'definition'
  /** Schemas of the twins that it reads. */
  readonly over: readonly string[]
}

/** A relation under masks. */
export interface MaskedRelation {
  readonly relation: Relation
  readonly masks: Masks
  /** Columns that contained roles may not read. */
  readonly hidden: ReadonlySet<number>
  readonly before: readonly Privilege[]
  /** The access list that it is to have. */
  readonly acl: readonly Privilege[]
  readonly twin: TwinPlan | null
  /** What its twin cannot be made from: that is not tried again for a while. */
  readonly refused: string | null
  readonly record: MaskRecord | null
  /** The twin that is there once others have gone. */
  readonly made: Relation | null
  /** That twin is as it was made, and from the same. */
  readonly isKept: boolean
}

/** Something that could not be done, while everything else was. Its relation, and those on whose locks it may wait. */
export interface Unfinished extends Waiting {
  readonly sqlstate: string
  readonly reason: string
}
