import { BoundedCache } from '../../kernel/cache.ts'
import { fold } from '../place.ts'
import type { RuleProperties } from '../rules/rule-fields.ts'
import { asEnforced, type EnforcedRule } from './proposed-policy.ts'

type StoredRule = RuleProperties & { readonly name: string; readonly version: number }

/** The rules of a database as they were read last. */
export interface KnownRules {
  /** The latest version among them. */
  readonly version: number
  readonly byName: ReadonlyMap<string, EnforcedRule>
}

const mostDatabases = 200

export const noRules: KnownRules = { version: 0, byName: new Map() }

/**
 * Rules that this node has read: after a change it reads those that changed. Writes to the rules of one database come one after the other,
 * so a rule with a later version was committed later.
 */
export class RuleMemory {
  readonly #known = new BoundedCache<KnownRules>(mostDatabases)

  recall(databaseId: string): KnownRules {
    return this.#known.get(databaseId) ?? noRules
  }

  /**
   * What was known with the rules that changed since. Undefined: a rule was deleted, so all are to be read. `count`: how many there
   * are now.
   */
  add(
    databaseId: string,
    known: KnownRules,
    changed: readonly StoredRule[],
    count: number,
  ): readonly EnforcedRule[] | undefined {
    const byName = new Map(known.byName)
    for (const rule of changed) byName.set(fold(rule.name), asEnforced(rule))
    if (byName.size !== count) return undefined
    const version = Math.max(known.version, ...changed.map((rule) => rule.version))
    if (changed.length > 0 && version >= this.recall(databaseId).version)
      this.#known.set(databaseId, { version, byName })
    return [...byName.values()]
  }
}
