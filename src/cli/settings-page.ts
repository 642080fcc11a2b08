import { prefix, settingEntries } from '../settings.ts'

/** The text of `docs/settings.md`. */
export function renderSettings(): string {
  const rows = settingEntries.map(
    ([name, { doc, default: preset, allowed }]) =>
      `| \`${prefix}${name}\` | ${preset === undefined ? '(unset)' : preset === '' ? '(empty)' : `\`${preset}\``} | ${doc} | ${allowed} |`,
  )
  return [
    '# Settings',
    '',
    'Settings are environment variables. A wrong one stops the service before it touches any data, and names itself,',
    'its value and what is allowed. This page is generated from the schema in `src/settings.ts` (`npm run docs`).',
    '',
    '| variable | default | meaning | allowed |',
    '|---|---|---|---|',
    ...rows,
    '',
  ].join('\n')
}
