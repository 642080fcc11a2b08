/** Exit codes of every command but `psql`, which ends with psql's own. */
export const exitCodes = {
  done: 0,
  failed: 1,
  usage: 2,
  unreachable: 3,
  unsettled: 4,
  notFound: 5,
  denied: 6,
} as const

const meanings: Readonly<Record<keyof typeof exitCodes, string>> = {
  done: 'Done, also when nothing had to be changed.',
  failed: 'Refused or failed, or not confirmed. The reason is on standard error.',
  usage: 'Wrong use, or a wrong setting. Nothing was sent.',
  unreachable: 'The service does not run, or cannot be reached.',
  unsettled:
    'The answer is no: stored and not enforced yet (Pending, Failed), not ready, roles not contained, exposures of high severity, findings of the doctor.',
  notFound: 'The user, group, role, rule, mapping or other object that was named does not exist.',
  denied: 'The caller is not signed in, or may not do this.',
}

/** Each code with its meaning, for the help and the documentation. */
export const exitCodeTable: readonly (readonly [code: number, meaning: string])[] = (
  Object.keys(exitCodes) as (keyof typeof exitCodes)[]
).map((name) => [exitCodes[name], meanings[name]])
