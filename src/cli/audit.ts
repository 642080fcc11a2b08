import { setTimeout as pause } from 'node:timers/promises'
import { pathPrefix } from '../kernel/surface.ts'
import { isUuid } from '../kernel/uuid.ts'
import { type Api, apiHelp, apiOptions, databasePathOf, openApi, Refused, walk } from './api.ts'
import { auditExportHelp, auditExportOptions, exportAuditFile } from './audit-export.ts'
import { type Command, readArgs, type ValuesOf } from './command.ts'
import { readLimit } from './directory-objects.ts'
import { databaseHelp } from './look.ts'
import { findPrincipal, nameAll } from './principals.ts'
import { readTime } from './read-time.ts'
import { outputClosed, print, warn } from './surroundings.ts'
import { renderRows, showText } from './table.ts'

const options = {
  ...apiOptions,
  since: { type: 'string', default: '24h' },
  who: { type: 'string' },
  what: { type: 'string' },
  database: { type: 'string', short: 'd' },
  limit: { type: 'string', short: 'n' },
  follow: { type: 'boolean', short: 'f' },
} as const

type Values = ValuesOf<typeof options>

const followMs = 1000
/** Entries are written at the commit of their change, under the time at which it began. */
const overlapMs = 60_000

export const audit: Command = {
  name: 'audit',
  summary: 'Show what was changed, when and by whom',
  help: `
Usage: masquerade audit [--since TIME] [--who PRINCIPAL] [--what TEXT] [-d DATABASE] [-n N] [--follow]
       masquerade audit export FILE [--since TIME] [--until TIME] [--gzip]

Lists the audit of the directory and of masking, the oldest entry first; a caller who may read one of the two alone sees
that one. ${databaseHelp}

  --since TIME     A time such as 2026-01-31T12:00:00Z or 2026-01-31, or how long ago: 30m, 24h, 7d. 24h unless said.
  --who PRINCIPAL  Entries of a user, group or application, by userPrincipalName, name, appId or object id; 'operator' is the
                   command line on the machine of the service.
  --what TEXT      Entries whose action or target has this text, in any case.
  -d DATABASE      Entries of this database alone.
  -n, --limit N    The newest N entries alone.
  -f, --follow     Go on, and print new entries as they come.
${apiHelp}

With --json each entry is one line of JSON.
${auditExportHelp}`,
  options: { ...auditExportOptions, ...options },
  verbs: ['export'],
  async run(args) {
    if (args[0] === 'export') return exportAuditFile(args.slice(1))
    const { values } = readArgs('audit', args, { options })
    const since = readTime('audit', '--since', values.since)
    const limit = readLimit('audit', values.limit)
    const api = await openApi(values)
    const isWanted = await readWishes(api, values)
    const sources = await chooseSources(api, values, since)
    let seen: ReadonlySet<string> = new Set()
    let newest = 0
    const show = async (from: Date) => {
      const found = await collect(api, sources, from)
      const fresh = found.filter((entry) => !seen.has(entry.key) && isWanted(entry))
      seen = new Set(found.map(({ key }) => key))
      newest = Math.max(newest, Date.parse(found.at(-1)?.time ?? since.toISOString()))
      await printEntries(api, values, fresh.slice(Math.max(0, fresh.length - limit)))
      return fresh.length
    }
    const count = await show(since)
    if (count === 0 && !values.follow && !values.json) print('Nothing was changed in this time.\n')
    while (values.follow && !outputClosed().aborted) {
      await pause(followMs, undefined, { signal: outputClosed() }).catch(() => {})
      await show(new Date(Math.max(since.getTime(), newest - overlapMs)))
    }
    return 0
  },
}

interface Actor {
  readonly kind: string
  readonly objectId: string
  readonly applicationId: string
}

/** An entry of either audit. */
interface AuditEntry {
  /** Unique among the entries of both. */
  readonly key: string
  readonly time: string
  readonly actor: Actor
  readonly action: string
  readonly target: string
  readonly requestId: string | null
  readonly changes: unknown
}

interface Source {
  pathFrom(time: Date): string
  read(entry: never): AuditEntry
}

interface MaskingEntry extends Omit<AuditEntry, 'key' | 'target' | 'changes'> {
  readonly id: string
  readonly resourceId: string
  readonly before: unknown
  readonly after: unknown
}

const maskingAudit = (scope: string): Source => ({
  pathFrom: (time) => `${scope}/auditEvents?$top=1000&from=${encodeURIComponent(time.toISOString())}`,
  read: ({ id, resourceId, before, after, ...entry }: MaskingEntry) => ({
    ...entry,
    key: id,
    target: resourceId,
    changes: { before, after },
  }),
})

interface DirectoryEntry {
  readonly id: string
  readonly activityDateTime: string
  readonly activityDisplayName: string
  readonly correlationId: string | null
  readonly initiatedBy: {
    readonly user: { readonly id: string; readonly userPrincipalName: string | null } | null
    readonly app: { readonly appId: string; readonly servicePrincipalId: string } | null
  }
  readonly targetResources: readonly {
    readonly id: string
    readonly type: string
    readonly displayName: string | null
    readonly userPrincipalName: string | null
    readonly modifiedProperties: unknown
  }[]
}

const directoryAudit: Source = {
  pathFrom: (time) =>
    `${pathPrefix.directory}/auditLogs/directoryAudits?$top=999&$filter=${encodeURIComponent(`activityDateTime ge ${time.toISOString()}`)}`,
  read({ id, initiatedBy, targetResources, ...entry }: DirectoryEntry) {
    const [target] = targetResources
    const name = target?.userPrincipalName ?? target?.displayName ?? target?.id ?? ''
    return {
      // The number of the entry, as the audit of masking has it: both are one trail.
      key: String(Number.parseInt(id.slice(-12), 16)),
      time: entry.activityDateTime,
      actor: readActor(initiatedBy, entry.activityDisplayName),
      action: entry.activityDisplayName,
      target: `${target?.type ?? ''} ${name}`.trim(),
      requestId: entry.correlationId,
      changes: target?.modifiedProperties ?? [],
    }
  },
}

/** Entries of the command line beside the service name no user, or the one for whom it issued a token. */
function readActor({ user, app }: DirectoryEntry['initiatedBy'], action: string): Actor {
  if (app) return { kind: 'application', objectId: app.servicePrincipalId, applicationId: app.appId }
  const isOperator = !user?.userPrincipalName || action === 'IssueOperatorToken'
  const kind = isOperator ? 'operator' : 'delegated'
  return { kind, objectId: user?.id ?? '', applicationId: '' }
}

/** The audits that the caller may read. Fails when there is none. */
async function chooseSources(api: Api, { database }: Values, since: Date): Promise<Source[]> {
  if (database !== undefined) return [maskingAudit(databasePathOf(database, 'audit'))]
  const readable: Source[] = []
  let refusal: Refused | undefined
  for (const source of [maskingAudit('/providers/Vendor.Sql'), directoryAudit]) {
    try {
      await api.send('GET', source.pathFrom(since).replace(/\$top=\d+/, '$top=1'))
      readable.push(source)
    } catch (error) {
      if (!(error instanceof Refused) || error.status !== 403) throw error
      refusal = error
    }
  }
  if (readable.length === 0 && refusal) throw refusal
  if (refusal) warn('masquerade: you may read one of the two audits; entries of the other are missing.\n')
  return readable
}

/** Entries since a time, the oldest first. */
async function collect(api: Api, sources: readonly Source[], from: Date): Promise<AuditEntry[]> {
  const found: AuditEntry[] = []
  for (const source of sources)
    for await (const entry of walk<never>(api, source.pathFrom(from))) found.push(source.read(entry))
  return found.sort((a, b) => (a.time < b.time ? -1 : a.time > b.time ? 1 : Number(a.key) - Number(b.key)))
}

async function readWishes(api: Api, { who, what }: Values): Promise<(entry: AuditEntry) => boolean> {
  const principal = who === undefined || who === 'operator' ? undefined : (await findPrincipal(api, who)).id
  const appId = who !== undefined && isUuid(who) ? who.toLowerCase() : undefined
  const text = what?.toLowerCase()
  return ({ actor, action, target }) => {
    if (who === 'operator' && actor.kind !== 'operator') return false
    if (principal !== undefined && actor.objectId !== principal && actor.applicationId !== appId) return false
    return text === undefined || action.toLowerCase().includes(text) || target.toLowerCase().includes(text)
  }
}

async function printEntries(api: Api, { json }: Values, entries: readonly AuditEntry[]): Promise<void> {
  if (json) {
    print(entries.map(({ key: id, ...entry }) => `${JSON.stringify({ id, ...entry })}\n`).join(''))
    return
  }
  if (entries.length === 0) return
  const names = await nameAll(
    api,
    entries.map(({ actor }) => actor.objectId),
  )
  const rows = entries.map(({ time, actor, action, target, changes }) => [
    `${time.slice(0, 19)}Z`,
    showText(actor.kind === 'operator' ? 'operator' : (names.get(actor.objectId) ?? actor.objectId)),
    showText([action, ...outcomesOf(changes)].join(' ')),
    showText(target),
  ])
  print(renderRows(rows))
}

/** Of an entry about masked columns: what became of its statements, such as `raw denied`. */
function outcomesOf(changes: unknown): string[] {
  const { after } = changes as { readonly after?: { readonly statements?: unknown } | null }
  if (!Array.isArray(after?.statements)) return []
  const found = new Set(after.statements.flatMap((statement: object) => Object.keys(statement)))
  return ['raw', 'wouldMask', 'masked', 'denied', 'written', 'unparsed'].filter((how) => found.has(how))
}
