/** The side effects of a remedy. */
export interface Consequences {
  /** Roles, applications and objects that notice it. */
  readonly affects: string
  /** How to take it back; null where that is impossible. */
  readonly undo: string | null
  /** It can break an application: read what it affects before. */
  readonly isDangerous: boolean
  /** Something narrower that may do as well; null where there is nothing. */
  readonly alternative: string | null
}

interface RemedyKind extends Consequences {
  readonly pattern: RegExp
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
    affects: 'Every role without a grant of its own, applications and people alike.',
    undo: 'The same privilege with GRANT … TO PUBLIC.',
    isDangerous: true,
    alternative: 'Grant the privilege to the roles that need it first, each by its name.',
  },
  {
    pattern: /\bENABLE ROW LEVEL SECURITY\b/,
    affects:
      'COPY … FROM, pg_dump and subscriptions of roles that neither own the table nor have BYPASSRLS: they fail. Row policies that are created later count.',
    undo: 'ALTER TABLE … DISABLE ROW LEVEL SECURITY, then DROP POLICY.',
    isDangerous: true,
    alternative: 'Revoke UPDATE on the table from the roles, where they do not need it.',
  },
  {
    pattern: /\bSET search_path\b/,
    affects:
      'Calls of the function: names in its text without a schema are looked up in these schemas alone.',
    undo: 'ALTER ROUTINE … SET search_path with the former value, or RESET search_path.',
    isDangerous: true,
    alternative:
      'Give the function a body in standard SQL (BEGIN ATOMIC), or revoke EXECUTE on it from roles that do not need it.',
  },
  {
    pattern: /\bSET (client_min_messages|plpgsql\.print_strict_params)\b/,
    affects:
      'Callers of the function: they see none of its messages below an error. A function in SQL is no longer made a part of the calling query, which can be slower.',
    undo: 'ALTER ROUTINE … RESET client_min_messages, and RESET plpgsql.print_strict_params.',
    isDangerous: false,
    alternative: null,
  },
  {
    pattern: /^VACUUM FULL /m,
    affects:
      'Every statement on the table waits while PostgreSQL rewrites it, and the disk holds it twice meanwhile.',
    undo: null,
    isDangerous: true,
    alternative: 'Any other statement that rewrites the table does as well, such as CLUSTER.',
  },
  {
    pattern: /^DROP STATISTICS /m,
    affects:
      'Plans: PostgreSQL takes the columns for independent of each other, and may estimate too few rows for conditions on several of them.',
    undo: 'CREATE STATISTICS with the former definition, then ANALYZE.',
    isDangerous: false,
    alternative: 'CREATE STATISTICS (dependencies, ndistinct) on the same columns keeps no values.',
  },
  {
    pattern: /^DROP /m,
    affects: 'Programs and replicas that use it.',
    undo: null,
    isDangerous: true,
    alternative: null,
  },
  {
    pattern: /\bDROP CONSTRAINT\b/,
    affects: 'Rows of the referring table: they are not checked any more, nor changed with the other table.',
    undo: 'ALTER TABLE … ADD CONSTRAINT with the former definition.',
    isDangerous: false,
    alternative: null,
  },
  {
    pattern: /^ALTER ROLE /m,
    affects: 'The role in every database of the server.',
    undo: 'ALTER ROLE with the opposite attribute.',
    isDangerous: false,
    alternative: null,
  },
  {
    pattern: /^ALTER DEFAULT PRIVILEGES /m,
    affects: 'Tables that are created later; those that exist keep their privileges.',
    undo: 'The same statement with GRANT.',
    isDangerous: false,
    alternative: null,
  },
  {
    pattern: /^ALTER SUBSCRIPTION /m,
    affects:
      'Changes that arrive: they are applied as the owner of each table, whose row policies and privileges count.',
    undo: 'The same statement with run_as_owner = true.',
    isDangerous: false,
    alternative: null,
  },
  {
    pattern: /^ALTER (POLICY|PUBLICATION|TABLE) /m,
    affects: 'Rows that roles see through it, or subscribers that get them.',
    undo: 'The same statement with the former value.',
    isDangerous: false,
    alternative: null,
  },
  {
    pattern: /^REVOKE /m,
    affects: 'The roles that are named and, by CASCADE, roles that were given it by them.',
    undo: 'The same privilege or membership with GRANT.',
    isDangerous: false,
    alternative: null,
  },
  {
    pattern: /^GRANT /m,
    affects: 'The role of the binding alone.',
    undo: 'The same statement with REVOKE.',
    isDangerous: false,
    alternative: null,
  },
]

export const unknownConsequences: Consequences = {
  affects: 'Read the statement before you run it.',
  undo: null,
  isDangerous: false,
  alternative: null,
}

/** The consequences of statements that close an exposure; null where there are none. */
export function findConsequences(remedy: string | null): Consequences | null {
  if (remedy === null) return null
  const found = kinds.find(({ pattern }) => pattern.test(remedy))
  if (!found) return unknownConsequences
  const { affects, undo, isDangerous, alternative } = found
  return { affects, undo, isDangerous, alternative }
}
