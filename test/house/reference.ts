import type { SourceFile } from './tree.ts'

type Saying = { code?: string; message?: string }
export type Kind = { status: number; code: string; masking?: Saying; directory?: Saying }

/** A page's text without the padding that the formatter gives to tables. */
export function dropPadding(markdown: string): string {
  return markdown
    .split('\n')
    .map((line) => (line.startsWith('|') ? line.replace(/ *\| */g, '|').replace(/-+(?=\|)/g, '-') : line))
    .join('\n')
    .trim()
}

/** What is wrong between the table of problems and the page about them, one line each. */
export function findErrorFaults(problems: Record<string, Kind>, page: SourceFile): string[] {
  const rows = page.text.split('\n').filter((line) => /^\| *`\w+` *\|/.test(line))
  const named = new Map(rows.map((row) => [/`(\w+)`/.exec(row)?.[1] ?? '', row]))
  return [
    ...(rows.length > named.size ? [`${page.path} names a problem twice`] : []),
    ...[...named.keys()]
      .filter((name) => !Object.hasOwn(problems, name))
      .map((name) => `${name} is no problem of ours`),
    ...Object.entries(problems).flatMap(([name, kind]) => {
      const row = named.get(name)
      if (row === undefined) return [`${name} is not in ${page.path}`]
      const facts = [String(kind.status), kind.code, kind.masking?.code, kind.directory?.code]
      return facts
        .filter((fact) => fact !== undefined && !row.includes(fact))
        .map((fact) => `${name}: the row lacks ${fact}`)
    }),
  ]
}
