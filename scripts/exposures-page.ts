import { exposureKinds } from '../src/findings/exposures/find-exposures.ts'

/** The text of `docs/exposures.md`. */
export function renderExposures(): string {
  const rank = ['high', 'medium', 'low']
  const byCode = new Map(exposureKinds.map((kind) => [kind.code, kind]))
  const rows = [...byCode.values()]
    .sort((one, other) => rank.indexOf(one.severity) - rank.indexOf(other.severity))
    .map(({ code, severity, meaning }) => `| \`${code}\` | ${severity} | ${meaning} |`)
  return [
    '# Exposures',
    '',
    'Ways to raw values that masks do not close by themselves. `masquerade exposures -d DATABASE` lists those of a database with the roles',
    'concerned and the statement or rule that closes each. How to read the list: [enforcement.md](enforcement.md#exposures).',
    '',
    'A masked role is one that the policy does not exempt. A trusted owner is one whose rights lead to raw values. The severity is the usual',
    'one of a kind: a single finding may have another. This page is generated from `src/findings/exposures` (`npm run docs`).',
    '',
    '| code | severity | meaning |',
    '|---|---|---|',
    ...rows,
    '',
  ].join('\n')
}
