export type MaskingFunction = 'CCN' | 'Default' | 'Email' | 'Number' | 'SSN' | 'Text'

/** The fields of a rule that a mask is made of. */
export interface Mask {
  readonly maskingFunction: MaskingFunction
  readonly numberFrom: string | null
  readonly numberTo: string | null
  readonly prefixSize: string | null
  readonly suffixSize: string | null
  readonly replacementString: string | null
}

/** A table that a rule names. */
export interface Target {
  readonly schema: string
  readonly table: string
}

/** A rule as far as enforcement is concerned. */
export interface Rule extends Mask {
  readonly name: string
  readonly schema: string
  readonly table: string
  readonly column: string
}

/** The state that a database is to be in. A policy that is off has no rules. */
export interface Policy {
  readonly rules: readonly Rule[]
  /** Database roles whose members see raw values; `public` stands for all roles. */
  readonly exemptRoles: readonly string[]
  /** Entries that do not exempt the role of their name: they named another one, none or an object of the directory. */
  readonly takenNames?: readonly string[]
  /**
   * The OIDs of the roles that entries and names of login roles were judged by. Null: there was none, so that none is
   * exempt by it.
   */
  readonly judgedRoles?: ReadonlyMap<string, number | null>
  /** Tables that are being migrated: no twin, nothing unmasked. */
  readonly suspended: readonly { readonly schema: string; readonly table: string }[]
}

/** Rules and exempt entries that are not stored, to be looked at. */
export interface Proposal {
  /** None of a policy that would be off. */
  readonly rules: readonly Rule[]
  /** Database roles, or users, applications and groups of the directory. */
  readonly exempt: readonly string[]
}
