/** What rows say of a role, without its name. */
export function groupByRole<T extends { readonly role: string }>(
  rows: readonly T[],
): (role: string) => Omit<T, 'role'>[] {
  const groups = Map.groupBy(rows, ({ role }) => role)
  return (role) => (groups.get(role) ?? []).map(({ role: _, ...row }) => row)
}
