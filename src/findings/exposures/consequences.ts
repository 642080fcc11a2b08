import type { Consequences } from '../../contracts/inspection.ts'

interface RemedyKind extends Partial<Consequences> {
  readonly pattern: RegExp
  readonly affects: string
}

/** The first that matches counts: the dangerous ones stand before the usual ones. */
const kinds: readonly RemedyKind[] = [
  {
    pattern: /\bOWNER TO\b/,
    affects: 'The former owner and its members lose the rights of an owner: migrations that run as it fail.',
    undo: 'ALTER … OWNER TO the former owner.',
    isDangerous: true,
    alternative: 'Exempt the owner with masquerade policy exempt, if it may see raw values.',
  },
  {
    pattern: /\bDISABLE (TRIGGER|RULE)\b/,
    affects: 'Writes of every role: what it checked, stamped or copied does not happen any more.',
    undo: 'The same statement with ENABLE.',
    isDangerous: true,
    alternative: 'Put a rule on the columns that it writes to, and leave it enabled.',
  },
  {
    pattern: /^REVOKE .*\bFROM\b.*\bPUBLIC\b/ms,
    affects: 'Every role that has no grant of its own: exempt ones, applications and people alike.',
    undo: 'The same privilege with GRANT … TO PUBLIC.',
    isDangerous: true,
    alternative: 'Grant the privilege to the other roles that need it first, each by its name.',
  },
  {
    pattern: /\bSET search_path\b/,
    affects:
      'Calls of the function: names in its text without a schema are looked up in these schemas alone.',
    undo: 'ALTER ROUTINE … SET search_path with the former value, or RESET search_path.',
    isDangerous: true,
    alternative:
      'Give it a body in standard SQL (BEGIN ATOMIC), or revoke EXECUTE from roles that do not need it.',
  },
  {
    pattern: /^DROP STATISTICS /m,
    affects: 'Plans: PostgreSQL may estimate too few rows for conditions on several of the columns.',
    undo: 'CREATE STATISTICS with the former definition, then ANALYZE.',
    alternative: 'CREATE STATISTICS (dependencies, ndistinct) on the same columns keeps no values.',
  },
  {
    pattern: /^DROP /m,
    affects: 'Programs and replicas that use it.',
    isDangerous: true,
  },
  {
    pattern: /^ALTER (POLICY|PUBLICATION|TABLE) /m,
    affects: 'Rows that roles see through it, or subscribers that get them.',
    undo: 'The same statement with the former value.',
  },
  {
    pattern: /^REVOKE /m,
    affects: 'The roles that are named and, by CASCADE, roles that were given it by them.',
    undo: 'The same privilege with GRANT.',
  },
]

/** The consequences of statements that close an exposure; null where there are none. */
export function findConsequences(remedy: string | null): Consequences | null {
  const found = kinds.find(({ pattern }) => remedy !== null && pattern.test(remedy))
  if (!found) return null
  const { pattern: _, ...consequences } = found
  return { undo: null, isDangerous: false, alternative: null, ...consequences }
}
