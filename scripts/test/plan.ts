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
  'test/spec/gateway/held-logins.test.ts',
  'test/spec/storage/embedded.test.ts',
  'test/spec/enforcement/faults.test.ts',
  'test/spec/gateway/failures.test.ts',
  'test/spec/service/lifecycle.test.ts',
  'test/spec/service/backup.test.ts',
  'test/portal/journeys.test.ts',
  'test/portal/database.test.ts',
  'test/portal/access-journeys.test.ts',
  'test/portal/people-and-groups.test.ts',
  'test/portal/shell.test.ts',
  'test/portal/tabs.test.ts',
  'test/portal/loading.test.ts',
  'test/portal/mishaps.test.ts',
  'test/portal/outage.test.ts',
  'test/spec/enforcement/blocked.test.ts',
  'test/attacks/turns.test.ts',
  'test/spec/gateway/audit-neighbours.test.ts',
  'test/spec/gateway/psql-sign-in.test.ts',
  'test/spec/gateway/query-at-shutdown.test.ts',
  'test/spec/gateway/standby-logins.test.ts',
  'test/spec/gateway/standbys.test.ts',
  'test/spec/gateway/renamed-reads.test.ts',
  'test/spec/gateway/psql-command.test.ts',
  'test/spec/gateway/former-binding.test.ts',
  'test/spec/gateway/hanging-primary.test.ts',
  'test/spec/gateway/login-rights.test.ts',
  'test/spec/gateway/login-roles.test.ts',
  'test/spec/gateway/failing-writes.test.ts',
  'test/spec/gateway/unbound.test.ts',
  'test/spec/enforcement/waiting-looks.test.ts',
  'test/spec/enforcement/silent-standbys.test.ts',
  'test/spec/enforcement/dropped-roles.test.ts',
  'test/spec/enforcement/exposures.test.ts',
  'test/spec/service/readiness.test.ts',
  'test/spec/service/http-workers.test.ts',
  'test/spec/service/drain.test.ts',
  'test/spec/service/requests.test.ts',
  'test/spec/service/launcher.test.ts',
  'test/spec/service/secret-key.test.ts',
  'test/spec/service/killed-commands.test.ts',
  'test/spec/tokens/command-line.test.ts',
  'test/spec/tokens/ended-sign-ins.test.ts',
  'test/spec/tokens/in-flight.test.ts',
  'test/spec/tokens/exchanged-tokens.test.ts',
  'test/spec/tokens/azure-identity.test.ts',
  'test/spec/masking/hostile-servers.test.ts',
  'test/spec/masking/enforcement-states.test.ts',
  'test/spec/directory/rights-in-order.test.ts',
  'test/spec/directory/ended-subscriptions.test.ts',
  'test/spec/directory/notifications.test.ts',
  'test/spec/directory/carried-rights.test.ts',
  'test/spec/directory/strong-applications.test.ts',
  'test/spec/directory/rights-of-people.test.ts',
  'test/spec/callers/revocation.test.ts',
  'test/spec/callers/blocked-clients.test.ts',
  'test/spec/callers/admin-restore.test.ts',
  'test/spec/gateway/endings.test.ts',
  'test/unit/scripts/run-tests.test.ts',
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
