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
  if (action === 'gateway/touch') return describeTouches(facts.statements)
  if (action === 'gateway/refuse') {
    const told = t.activity.refused(listOf(facts.name), listOf(facts.from), Number(facts.count ?? 1))
    return { what, details: `${told}: ${listOf(facts.reason)}` }
  }
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

const outcomes = ['raw', 'wouldMask', 'masked', 'denied', 'written'] as const

/** The first outcome that any of the statements has, and the columns of each, once. */
function describeTouches(statements: unknown): { what: string; details: string } {
  const all = Array.isArray(statements) ? statements.map(asRecord) : []
  const found = outcomes.flatMap((how) => {
    const columns = [...new Set(all.flatMap((one) => one[how] ?? []).map(String))].join(', ')
    return columns === '' ? [] : [{ how, columns }]
  })
  const unparsed = all.some((one) => one.unparsed) ? 'unparsed' : undefined
  const first = found[0]?.how ?? unparsed
  return {
    what: first ? t.activity.touched[first] : (t.activity.actions['gateway/touch'] ?? ''),
    details: found.map(({ how, columns }) => `${t.activity.touchedColumns[how]}: ${columns}`).join('; '),
  }
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
