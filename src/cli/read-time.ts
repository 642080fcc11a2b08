import { refuseUse } from './command.ts'

const unitMs: Readonly<Record<string, number>> = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 }

/** A time, or how long ago it was, as an option of a command has it. */
export function readTime(command: string, option: string, text: string): Date {
  const [, amount, unit = ''] = /^(\d{1,6})([smhd])$/.exec(text) ?? []
  const isTime = /^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d{1,6})?)?(Z|[+-]\d\d:\d\d))?$/.test(text)
  const ms =
    amount === undefined ? Date.parse(isTime ? text : '') : Date.now() - Number(amount) * (unitMs[unit] ?? 0)
  if (!Number.isNaN(ms) && ms >= 0) return new Date(ms)
  return refuseUse(
    command,
    `${option} takes a time such as 2026-01-31T12:00:00Z, or 30m, 24h, 7d, and not '${text.slice(0, 50)}'`,
  )
}
