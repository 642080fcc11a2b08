import path from 'node:path'

/** Files that need a process of their own, each with the reason. */
export const ownProcess: Readonly<Record<string, string>> = {
  'test/spec/storage/embedded.test.ts': 'changes the user of its process',
  'test/spec/gateway/endings.test.ts': 'measures the memory of its process',
}

/** The files that take longest, longest first, so that none of them is still running when the others have ended. */
export const slowest: readonly string[] = [
  'test/spec/service/launcher.test.ts',
  'test/spec/gateway/psql-command.test.ts',
  'test/spec/service/lifecycle.test.ts',
  'test/spec/gateway/psql-sign-in.test.ts',
  'test/spec/gateway/login-roles.test.ts',
  'test/spec/gateway/attacks.test.ts',
  'test/spec/enforcement/attack/attack.test.ts',
  'test/spec/gateway/touch.test.ts',
  'test/spec/gateway/regression.test.ts',
  'test/spec/gateway/half-open.test.ts',
  'test/spec/storage/embedded.test.ts',
  'test/spec/gateway/login-rights.test.ts',
  'test/spec/gateway/failures.test.ts',
  'test/spec/gateway/weak-login.test.ts',
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
