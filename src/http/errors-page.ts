import { describe, Problem, type ProblemName, problems } from '../kernel/problem.ts'

/** The text of `docs/errors.md`: every problem as each of the two APIs says it. */
export function renderErrors(): string {
  const rows = (Object.keys(problems) as ProblemName[]).map((name) => {
    const masking = describe(new Problem(name), 'masking')
    const directory = describe(new Problem(name), 'directory')
    const same = masking.code === directory.code && masking.message === directory.message
    const codes = same ? `\`${masking.code}\`` : `\`${masking.code}\` / \`${directory.code}\``
    const messages = same ? masking.message : `${masking.message} / ${directory.message}`
    return `| \`${name}\` | ${masking.status} | ${codes} | ${messages.replaceAll('|', '\\|')} |`
  })
  return [
    '# Errors',
    '',
    'Every error that the service answers. Where the two APIs differ, the masking API comes first, then the directory API.',
    'Words in braces stand for what the case is about. This page is generated from the tables in `src/kernel/problems/`',
    '(`npm run docs`).',
    '',
    '| problem | status | code | message |',
    '|---|---|---|---|',
    ...rows,
    '',
  ].join('\n')
}
