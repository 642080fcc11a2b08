import type { Api } from './api.ts'
import { leave, type Wishes } from './impact.ts'
import { isConfirmed } from './input.ts'
import { announce, warn } from './surroundings.ts'
import { showStatement, showText } from './table.ts'

interface Restored {
  readonly mappings: readonly string[]
  readonly statements: readonly { readonly sql: string; readonly why: string }[]
  readonly state: string
  readonly reason: string | null
  readonly left: readonly {
    readonly kind: string
    readonly name: string
    readonly statement: string
    readonly isHarmless: boolean
  }[]
}

/** Shows what would be removed, asks, and removes it. Returns 0 when nothing is left that matters. */
export async function restore(api: Api, path: string, wishes: Wishes): Promise<number> {
  const plan = (await api.send<Restored>('POST', `${path}/restore?dryRun=true`)).body
  announce(wishes, describePlan(plan))
  if (!wishes.yes && !(await isConfirmed())) return leave(wishes)
  const { state, reason, left } = (await api.send<Restored>('POST', `${path}/restore`)).body
  const inTheWay = left.filter(({ isHarmless }) => !isHarmless)
  for (const { kind, name, statement } of left)
    announce(wishes, `Left: ${kind} ${showText(name)}. To remove it: ${showText(statement)};\n`)
  if (inTheWay.length === 0) return 0
  warn(
    `The binding stays: something of this service is still in the database (${state}). ${showText(reason ?? '')} Run it again.\n`,
  )
  return 4
}

function describePlan({ mappings, statements, left }: Restored): string {
  const lines = [
    ...mappings.map((name) => `- mapping ${showText(name)}`),
    ...left.map(({ kind, name }) => `- ${kind} ${showText(name)}`),
    ...statements.map(({ sql, why }) => `${showStatement(sql)}; -- ${showText(why)}`),
  ]
  return lines.length === 0
    ? 'Nothing of this service is in the database.\n'
    : `To be removed:\n${lines.map((line) => `  ${line}\n`).join('')}`
}
