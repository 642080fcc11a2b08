import { type Static, Type } from 'typebox'
import { type Context, ok } from '../../api/operation.ts'
import { pageSizeOption, queryOption } from '../../api/query-option.ts'
import { hasEntry, isRewritten, readNewestEntry } from '../../db/change-log.ts'
import { fail } from '../../kernel/problem.ts'
import { isUuid } from '../../kernel/uuid.ts'
import { selectOption } from '../entities/entity-view.ts'
import { deltaSchema, link, context as metadata, wordsOf } from '../entities/schemas.ts'
import { contextOf } from '../entities/show-entity.ts'
import type { Resource } from '../objects/kinds/resource.ts'
import { objectSet } from '../objects/object-set.ts'
import { maxTop, readPageSize, readTop, showPageSize } from '../odata/list.ts'
import { readSelect } from '../odata/select.ts'
import { type DirectoryPorts, operation } from '../operation.ts'
import { type DeltaOptions, type DeltaState, openToken, sealToken } from './delta-token.ts'
import { readChanges } from './read-changes.ts'
import type { DeltaPage, DeltaSource } from './show-delta.ts'
import { walkObjects } from './walk-objects.ts'

const deltaQuery = Type.Object({
  $select: selectOption,
  $expand: queryOption('members: the members of groups and their changes.'),
  $filter: queryOption("The objects to follow, 50 at most: id eq '{id}' or id eq '{id}'."),
  $top: pageSizeOption('Objects of a page: 1 to 999, 100 if not given.', maxTop),
  $deltatoken: queryOption('Part of @odata.deltaLink; latest: only what changes from now on.'),
  $skiptoken: queryOption('Part of @odata.nextLink.'),
})

type DeltaContext = Context<DirectoryPorts, undefined, Static<typeof deltaQuery>>

/** All objects of a kind, then what changed since. */
export function readDelta(resource: Resource) {
  const set = objectSet(resource)
  return operation({
    name: `delta${set.many}`,
    clause: 'DIR-256',
    summary: `List ${wordsOf(set.many)}, then what changed about them`,
    method: 'GET',
    path: `/${resource.set}/delta`,
    permission: set.permissions.read,
    query: deltaQuery,
    errors: [410],
    answers: {
      200: Type.Object(
        {
          '@odata.context': metadata,
          '@odata.nextLink': link,
          '@odata.deltaLink': link,
          value: Type.Array(deltaSchema(set)),
        },
        { title: `${set.kind}DeltaCollection` },
      ),
    },
    async run(context) {
      const { request, caller, ports } = context
      const state = await openState(context, resource)
      const { $top } = state.options
      const preferred = $top === undefined ? readPageSize(request) : undefined
      const source: DeltaSource = {
        ...readOptions(state.options, resource),
        tx: context.tx,
        tenantId: caller.tenantId,
        set,
        readable: set.readable?.(caller),
        top: preferred ?? readTop($top),
      }
      const page = await readPage(context, resource, source, state)
      const size = preferred === undefined ? {} : { $top: String(preferred) }
      const kept = { ...state, options: { ...state.options, ...size } }
      const link = (name: string, next: DeltaState) =>
        `${addressOf(context, resource)}?${name}=${sealToken(ports.secrets, placeOf(context, resource), next)}`
      const body = {
        '@odata.context': contextOf(request.baseUrl, resource.set, source.select),
        ...(page.next
          ? { '@odata.nextLink': link('$skiptoken', { ...kept, ...page.next }) }
          : { '@odata.deltaLink': link('$deltatoken', endRound(kept)) }),
        value: page.items,
      }
      return preferred === undefined ? ok(body) : ok(body, showPageSize(preferred))
    },
  })
}

function addressOf({ request }: DeltaContext, { set }: Resource): string {
  return `${request.baseUrl}/${set}/delta`
}

/** A token is good for one kind in one tenant. */
function placeOf({ caller }: DeltaContext, { kind }: Resource): string {
  return `delta ${caller.tenantId} ${kind}`
}

/** The state that the request continues, or the beginning of a new one. */
async function openState(context: DeltaContext, resource: Resource): Promise<DeltaState> {
  const { tx, caller, query, ports } = context
  const { $deltatoken, $skiptoken, ...options } = query
  if ($deltatoken !== undefined && $skiptoken !== undefined)
    fail('InvalidQueryOption', { option: '$skiptoken', reason: 'does not go with $deltatoken' })
  const token = $skiptoken ?? $deltatoken ?? ''
  if (token === '' || token.toLowerCase() === 'latest') {
    const since = await readNewestEntry(tx, caller.tenantId)
    return { options, since, ...(token !== '' && { until: since, at: { revision: since.revision } }) }
  }
  const { $top, ...fixed } = options
  for (const option of Object.keys(fixed))
    fail('InvalidQueryOption', { option, reason: 'is part of the token already' })
  const name = $skiptoken === undefined ? '$deltatoken' : '$skiptoken'
  const opened = openToken(ports.secrets, placeOf(context, resource), name, token)
  const state = { ...opened, options: { ...opened.options, ...($top !== undefined && { $top }) } }
  if (!(await hasEntry(tx, caller.tenantId, state.since, ports.changeLogDays)))
    failExpired(context, resource, state)
  if ($skiptoken !== undefined) return state
  const until = await readNewestEntry(tx, caller.tenantId)
  if (await isRewritten(tx, caller.tenantId, state.since.revision)) failExpired(context, resource, state)
  return { ...state, until, at: { revision: state.since.revision } }
}

/** The next round begins with the changes behind those of this one, or behind the start of the walk. */
function endRound({ options, since, until = since }: DeltaState): DeltaState {
  return { options, since: until }
}

async function readPage(
  context: DeltaContext,
  resource: Resource,
  source: DeltaSource,
  state: DeltaState,
): Promise<DeltaPage> {
  if (!state.until) return await walkObjects(source, state.at)
  const place = { revision: state.since.revision, ...state.at }
  return (await readChanges(source, place, state.until.revision)) ?? failExpired(context, resource, state)
}

/** The client starts over with the options that it started with. */
function failExpired(context: DeltaContext, resource: Resource, { options }: DeltaState): never {
  const query = new URLSearchParams(Object.entries(options)).toString()
  const location = `${addressOf(context, resource)}${query && '?'}${query.replaceAll('%24', '$')}`
  return fail('ExpiredDeltaToken', {}, { location })
}

/** `members` is no property: it asks for `members@delta`. The id is always shown. */
function readOptions({ $select, $expand, $filter }: DeltaOptions, resource: Resource) {
  const isMembers = (name: string) => resource.kind === 'group' && name.trim().toLowerCase() === 'members'
  if ($expand !== undefined && !isMembers($expand))
    fail('UnsupportedQuery', { option: '$expand', reason: 'takes members of groups alone' })
  const names = $select?.split(',')
  const select = readSelect(['id', ...(names ?? []).filter((name) => !isMembers(name))].join(), [resource])
  return {
    kind: resource.kind,
    select: names && select,
    hasMembers: $expand !== undefined || (names?.some(isMembers) ?? false),
    only: $filter === undefined ? undefined : readFollowed($filter),
  }
}

const mostFollowed = 50

/**
 * The ids of `id eq '…' or id eq '…'`. Any other condition is refused: an object that no longer meets it would have to
 * come once more as removed, and the log does not tell what objects were like before.
 */
function readFollowed(filter: string): string[] {
  const ids = filter
    .split(/\s+or\s+/i)
    .map((term) => /^\(?\s*id\s+eq\s+'?([\da-f-]{36})'?\s*\)?$/i.exec(term.trim())?.[1])
  const known = ids.filter((id) => id !== undefined && isUuid(id)).map((id) => String(id).toLowerCase())
  if (known.length < ids.length || known.length > mostFollowed)
    fail('UnsupportedQuery', {
      option: '$filter',
      reason: `takes up to ${mostFollowed} ids in a delta: id eq '…' or id eq '…'`,
    })
  return [...new Set(known)]
}
