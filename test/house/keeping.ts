import type { SourceFile } from './tree.ts'

export const longestFileLines = 350

/** Tests that run alone, do not run, or are promised: each hides others or itself. */
export function findHeldBackTests(files: SourceFile[]): string[] {
  const held =
    /\b(?:test|it|describe|suite|clause|t)\.(?:only|skip|todo)\(|\b(?:only|skip|todo): *(?:true|['"`])/
  return files.filter(({ text }) => held.test(text)).map(({ path }) => path)
}

export function findLongFiles(files: SourceFile[]): string[] {
  return files
    .map(({ path, text }) => ({ path, lines: text.replace(/\n$/, '').split('\n').length }))
    .filter(({ lines }) => lines > longestFileLines)
    .map(({ path, lines }) => `${path} has ${lines} lines`)
}

/** Where a file names a folder of somebody's machine or the host of a package registry. */
export function findForeignNames(files: SourceFile[]): string[] {
  const foreign = [
    /(?<![\w.-])\/(?:work|farm|home|root)\/\w+/,
    /(?<![\w.-])\/tmp\/(?:wt|bash_jobs|land|brief)\b/,
    /\bshared\/(?:spec|design)\b/,
    /\b(?:registry\.(?:npmjs|yarnpkg|npmmirror)|deb\.debian|proxy\.golang|files\.pythonhosted)\.\w+/i,
  ]
  return files.flatMap(({ path, text }) =>
    text.split('\n').flatMap((line, i) => {
      const found = foreign.map((pattern) => pattern.exec(line)?.[0]).find((name) => name !== undefined)
      return found ? [`${path}:${i + 1} names ${found}`] : []
    }),
  )
}

/** What is wrong with the names of the files in sql/: `0001-what-it-does.sql`, counted up from 1. */
export function findMigrationFaults(names: string[]): string[] {
  const migrations = names.filter((name) => name !== 'schema.sql').sort()
  return migrations.flatMap((name, i) => {
    const number = /^(\d{4})-[a-z0-9-]+\.sql$/.exec(name)?.[1]
    if (number === undefined) return [`${name} is not named like a migration`]
    return Number(number) === i + 1 ? [] : [`${name} should be number ${i + 1}`]
  })
}
