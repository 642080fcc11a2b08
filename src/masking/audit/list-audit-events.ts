import { Type } from 'typebox'
import { ok } from '../../api/operation.ts'
import { pageSizeOption, queryOption } from '../../api/query-option.ts'
import { type AuditEvent, listAuditActions, selectAuditEvents } from '../../db/audit.ts'
import type { Query } from '../../db/query.ts'
import { fail } from '../../kernel/problem.ts'
import { apiVersions, operation } from '../operation.ts'
import { decodeSkipToken, encodeSkipToken, keyRange, nextLink } from '../page.ts'
import { checkName, databasePath, fold, scopeOf, serverPath } from '../place.ts'
import { dateTime } from '../schemas.ts'
import { type AuditKind, auditKinds, kindOf } from './audit-kinds.ts'
import { notBefore, readAudit } from './not-before.ts'
import { readTime } from './read-time.ts'

/** Every target of masking lies below a subscription; the directory once had targets `/subscriptions/{id}`. */
const maskingTargets = ['/subscriptions/%/', '/providers/']
const defaultPageSize = 100
const largestPageSize = 1000
const longestText = 200
const mostActors = 50

const auditEvent = Type.Object(
  {
    id: Type.String(),
    time: dateTime,
    action: Type.String(),
    resourceId: Type.String(),
    actor: Type.Object({ kind: Type.String(), objectId: Type.String(), applicationId: Type.String() }),
    requestId: Type.Unsafe<string | null>({ type: ['string', 'null'] }),
    before: Type.Unknown(),
    after: Type.Unknown(),
  },
  { title: 'auditEvent' },
)

export const listAuditEvents = operation({
  name: 'listAuditEvents',
  clause: 'MASK-116',
  summary: 'List what was changed at a scope and below it, newest first',
  method: 'GET',
  path: [
    '/providers/Vendor.Sql/auditEvents',
    '/subscriptions/:subscriptionId/providers/Vendor.Sql/auditEvents',
    '/subscriptions/:subscriptionId/resourceGroups/:resourceGroupName/providers/Vendor.Sql/auditEvents',
    `${serverPath}/auditEvents`,
    `${databasePath}/auditEvents`,
  ],
  apiVersions,
  permission: { action: readAudit, scope: scopeOf },
  query: Type.Object({
    from: queryOption('The earliest time, itself included.', { type: 'string', format: 'date-time' }),
    to: queryOption('The latest time, itself not included.', { type: 'string', format: 'date-time' }),
    action: queryOption('A part of the action, in any case.', { type: 'string', maxLength: longestText }),
    kind: queryOption('One kind of entries.', { type: 'string', enum: [...auditKinds] }),
    actor: queryOption(
      `Object ids of those who acted, or names of database roles, separated by commas: at most ${mostActors}.`,
    ),
    $top: pageSizeOption(
      `Events of a page: 1 to ${largestPageSize}, ${defaultPageSize} if not given.`,
      largestPageSize,
    ),
    $skipToken: Type.Optional(Type.String()),
  }),
  answers: {
    200: Type.Object({
      value: Type.Array(auditEvent),
      nextLink: Type.Optional(Type.String({ format: 'uri' })),
    }),
  },

  async run({ params, query, caller, tx, request, ports }) {
    for (const parameter of Object.keys(params)) checkName(params, parameter)
    const pageSize = readPageSize(query.$top)
    const found = await select(tx, caller.tenantId, {
      scope: fold(scopeOf(params)),
      from: await notBefore(readTime('from', query.from), { params, caller, tx, ports }),
      to: readTime('to', query.to),
      actions: await findActions(
        tx,
        caller.tenantId,
        readText('action', query.action, longestText),
        readKind(query.kind),
      ),
      actors: readActors(query.actor),
      position: decodeSkipToken(query.$skipToken, 2),
      limit: pageSize + 1,
    })
    const page = found.slice(0, pageSize)
    const last = page.at(-1)
    return ok({
      value: page.map(render),
      ...(found.length > pageSize &&
        last && {
          nextLink: nextLink(request, {
            'api-version': apiVersions[0],
            from: query.from,
            to: query.to,
            action: query.action,
            kind: query.kind,
            actor: query.actor,
            $top: query.$top,
            $skipToken: encodeSkipToken([last.time, last.id]),
          }),
        }),
    })
  },
})

function render({ target, ...event }: AuditEvent) {
  // The target is in lower case; the resource itself says how it is written.
  return { ...event, resourceId: idOf(event.after) ?? idOf(event.before) ?? target }
}

function idOf(resource: AuditEvent['after']): string | undefined {
  return typeof resource?.id === 'string' ? resource.id : undefined
}

interface Wanted {
  readonly scope: string
  readonly from: string | null
  readonly to: string | null
  readonly actions: readonly string[] | null
  readonly actors: readonly string[] | null
  readonly position: readonly string[] | null
  readonly limit: number
}

async function select(tx: Query, tenantId: string, wanted: Wanted): Promise<AuditEvent[]> {
  const { scope, from, to, actions, actors, position, limit } = wanted
  const [time = null, id = null] = position ?? []
  checkPosition(time, id)
  return await selectAuditEvents(tx, tenantId, {
    target: { is: scope, ...keyRange(scope), prefixes: maskingTargets },
    time: { from, to },
    actions,
    actors,
    last: { time, id },
    limit,
  })
}

/** The stored actions that fit; null: any. There are few, and their index finds entries that a part of a text does not. */
async function findActions(
  tx: Query,
  tenantId: string,
  part: string | null,
  kind: AuditKind | null,
): Promise<readonly string[] | null> {
  if (part === null && kind === null) return null
  const wanted = (part ?? '').toLowerCase()
  const all = await listAuditActions(tx, tenantId)
  return all.filter(
    (action) => action.toLowerCase().includes(wanted) && (kind === null || kindOf(action) === kind),
  )
}

function readKind(text: string | undefined): AuditKind | null {
  if (text === undefined) return null
  const kind = auditKinds.find((one) => one === text)
  return (
    kind ?? fail('InvalidQueryOption', { option: 'kind', reason: `must be one of ${auditKinds.join(', ')}` })
  )
}

function checkPosition(time: string | null, id: string | null): void {
  const isOurs =
    (time === null || /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/.test(time)) &&
    (time === null || !Number.isNaN(Date.parse(time))) &&
    (id === null || /^\d{1,18}$/.test(id))
  if (!isOurs)
    fail('InvalidQueryOption', { option: '$skipToken', reason: 'is not one that this service gave out' })
}

function readText(option: string, text: string | undefined, longest: number): string | null {
  if (text === undefined) return null
  if (text.length > longest || text.includes('\0'))
    fail('InvalidQueryOption', {
      option,
      reason: `must have at most ${longest} characters, none of them the code 0`,
    })
  return text
}

function readActors(text: string | undefined): readonly string[] | null {
  const actors = readText('actor', text, mostActors * longestText)?.split(',') ?? null
  if (actors !== null && actors.length > mostActors)
    fail('InvalidQueryOption', { option: 'actor', reason: `must name at most ${mostActors}` })
  return actors
}

function readPageSize(text: string | undefined): number {
  if (text === undefined) return defaultPageSize
  const size = /^\d{1,4}$/.test(text) ? Number(text) : 0
  if (size < 1 || size > largestPageSize)
    fail('InvalidQueryOption', { option: '$top', reason: `must be from 1 to ${largestPageSize}` })
  return size
}
