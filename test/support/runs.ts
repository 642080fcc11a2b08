/** How many random cases a property gets: this many in `npm test`, more in `npm run test:all`. */
export function runs(usual: number): number {
  return usual * Number(process.env.MASQUERADE_TEST_RUNS ?? 1)
}
