import path from 'node:path'

/** Files that need a process of their own, each with the reason. */
export const ownProcess: Readonly<Record<string, string>> = {
  'test/spec/storage/embedded.test.ts': 'changes the user of its process',
  'test/spec/gateway/endings.test.ts': 'measures the memory of its process',
  'test/unit/gateway/session/ledger/bounds.test.ts':
    'counts the objects of its process, which takes long in a large one',
}

/** The files that take longest, longest first, so that none of them is still running when the others have ended. */
export const slowest: readonly string[] = [
  'test/spec/storage/embedded.test.ts',
  'test/spec/enforcement/blocked.test.ts',
  'test/spec/gateway/login-roles.test.ts',
  'test/spec/service/lifecycle.test.ts',
  'test/spec/gateway/login-rights.test.ts',
  'test/spec/enforcement/exposures.test.ts',
  'test/spec/enforcement/faults.test.ts',
  'test/spec/service/launcher.test.ts',
  'test/spec/directory/get-member-groups.test.ts',
  'test/spec/gateway/psql-command.test.ts',
  'test/spec/gateway/failures.test.ts',
  'test/spec/gateway/touch.test.ts',
  'test/spec/callers/admin-restore.test.ts',
  'test/spec/enforcement/sabotage.test.ts',
  'test/spec/gateway/catalogs.test.ts',
  'test/spec/masking/rules-command.test.ts',
  'test/spec/gateway/psql-sign-in.test.ts',
  'test/spec/storage/database.test.ts',
  'test/spec/directory/strong-applications.test.ts',
  'test/spec/service/kill.test.ts',
  'test/spec/service/store-health.test.ts',
  'test/spec/service/command-line.test.ts',
  'test/spec/gateway/endings.test.ts',
  'test/attacks/turns.test.ts',
  'test/attacks/stalls.test.ts',
  'test/attacks/attacks.test.ts',
  'test/spec/callers/revocation.test.ts',
  'test/spec/tokens/azure-identity.test.ts',
  'test/spec/gateway/workers.test.ts',
  'test/spec/masking/rules.test.ts',
]

export function needsOwnProcess(file: string): boolean {
  return file in ownProcess
}

export function sortByDuration(files: readonly string[]): string[] {
  const rank = (file: string) => {
    const found = slowest.indexOf(file.split(path.sep).join('/'))
    return found < 0 ? slowest.length : found
  }
  return files.toSorted((a, b) => rank(a) - rank(b))
}
