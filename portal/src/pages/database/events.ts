import { type AuditEvent, type EventKind, eventKinds } from '../../api/access.ts'
import type { DatabaseActivity } from '../../api/activity.ts'
import { t } from '../../texts/index.ts'

/** An event in words: its kind, and the columns, rule or address that it is about. */
export function describeEvent({ action, resourceId, after, before }: AuditEvent): {
  what: string
  details: string
} {
  const facts = asRecord(after)
  const what = t.activity.actions[action] ?? action
  if (action === 'gateway/touch') return { what, details: listColumns(facts.statements) }
  if (action.startsWith('gateway/')) return { what, details: listOf(facts.from) }
  if (!/\/(write|delete)$/.test(action)) return { what, details: listOf(facts.tableName) }
  const noun = action.split('/').at(-2) ?? action
  const verb =
    before === null || before === undefined
      ? 'created'
      : after === null || after === undefined
        ? 'deleted'
        : 'changed'
  const name = decodeURIComponent(resourceId.split('/').at(-1) ?? '')
  return { what: `${t.activity.verbs[verb]} ${t.activity.nouns[noun] ?? noun}`, details: name }
}

/** The masked columns of the statements that an event counts, each once. */
function listColumns(statements: unknown): string {
  const all = Array.isArray(statements) ? statements.flatMap((one) => asRecord(one).masked ?? []) : []
  return [...new Set(all.map(String))].join(', ')
}

function asRecord(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}
}

function listOf(value: unknown): string {
  if (Array.isArray(value))
    return value
      .map((one) => (typeof one === 'string' ? one : Object.values(asRecord(one)).join(' ')))
      .join(', ')
  return value === undefined || value === null ? '' : String(value)
}

/** Events per day of one kind, or of all kinds. */
export function countByDay(
  { days }: DatabaseActivity,
  kind: EventKind | undefined,
): { days: readonly number[]; values: readonly number[] } {
  const counted: readonly EventKind[] = kind === undefined ? eventKinds : [kind]
  return {
    days: days.map(({ start }) => Date.parse(start) / 1000),
    values: days.map((day) => counted.reduce((sum, one) => sum + day[one], 0)),
  }
}

export function writeCsv(events: readonly AuditEvent[], names: ReadonlyMap<string, string>): string {
  const rows = events.map((event) => {
    const { what, details } = describeEvent(event)
    return [
      event.time,
      names.get(event.actor.objectId) ?? event.actor.objectId,
      what,
      details,
      event.requestId ?? '',
    ]
  })
  return [['time', 'by', 'what', 'details', 'request id'], ...rows]
    .map((row) => `${row.map(quote).join(',')}\n`)
    .join('')
}

/** Quoted, and never read as a formula by a spreadsheet. */
export function quote(text: string): string {
  const safe = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text
  return `"${safe.replaceAll('"', '""')}"`
}

/** Events with the same actor and the same words, as one: the newest of them, and how many. */
export function groupAlike(
  events: readonly AuditEvent[],
): readonly { readonly event: AuditEvent; readonly count: number }[] {
  const wordsOf = (event: AuditEvent) => {
    const { what, details } = describeEvent(event)
    return [event.actor.objectId, what, details].join()
  }
  return [...Map.groupBy(events, wordsOf).values()].flatMap(([event, ...others]) =>
    event ? [{ event, count: others.length + 1 }] : [],
  )
}
