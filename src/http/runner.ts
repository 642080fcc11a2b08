import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Answer, AuditEntry, Context, InnerRequest, Operation, RequestFacts } from '../api/operation.ts'
import type { Caller } from '../auth/caller.ts'
import type { Gatekeeper } from '../auth/gatekeeper.ts'
import type { Params } from '../auth/permission.ts'
import { writeAuditOf } from '../db/audit.ts'
import type { Database } from '../db/database.ts'
import type { Query } from '../db/query.ts'
import { fail } from '../kernel/problem.ts'
import { pathPrefix, withoutDirectoryPrefix } from '../kernel/surface.ts'
import { readBody } from './body.ts'
import { type Dialect, headerOf } from './dialect.ts'
import { readQuery } from './query.ts'
import { findOuterOrigin, originOf, sendInner } from './send-inner.ts'

export interface Runner {
  readonly database: Database
  readonly gatekeeper: Gatekeeper
  /** Refuses while the service has no room for writes. */
  requireRoom(): void
}

/** Before the body is read: a stranger's megabyte is not worth receiving. */
export async function admit(runner: Runner, operation: Operation, request: FastifyRequest): Promise<Caller> {
  const caller = await runner.gatekeeper.authenticate(request.headers.authorization)
  if (caller.kind === 'application' && isMe(request)) fail('DelegatedOnly')
  await runner.gatekeeper.throttle(caller)
  await runner.gatekeeper.permit(caller, operation.permission, request.params as Params, operation.right)
  return caller
}

/** `/me` is the signed-in user, and with an application's token there is none: whatever its permissions. */
function isMe(request: FastifyRequest): boolean {
  return /^\/me(\/|$)/i.test(withoutDirectoryPrefix(request.routeOptions.url ?? ''))
}

/** authenticate → permit happened in `admit`; here: parse → run → render. */
export async function perform(
  runner: Runner,
  operation: Operation,
  ports: unknown,
  dialect: Dialect,
  caller: Caller,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const query = readQuery(operation, request)
  const body = readBody(operation, request)
  const facts = requestFacts(request, dialect)
  const params = request.params as Params
  const readsOnly = operation.method === 'GET' || operation.reads
  if (!readsOnly) runner.requireRoom()

  const known = {
    params,
    query,
    body,
    caller,
    request: facts,
    sendInner: (inner: InnerRequest) => sendInner(request, inner),
    ports,
  }
  const prepared = await operation.prepare?.({ ...known, tx: runner.database.sql })
  const run = async (tx: Query): Promise<Answer> => {
    const entries: AuditEntry[] = []
    const audit = (entry: AuditEntry) => void entries.push(entry)
    const context: Context<unknown, unknown, unknown> = { ...known, tx, audit }
    const answer = await operation.run(context, prepared)
    await writeAuditOf(tx, caller, facts.id, entries)
    return answer
  }
  const answer = readsOnly ? await run(runner.database.sql) : await runner.database.transaction(run)
  const late = await answer.afterCommit?.()
  return render(
    late ? { ...answer, headers: { ...answer.headers, ...late } } : answer,
    dialect,
    request,
    reply,
  )
}

function render(
  answer: Answer,
  dialect: Dialect,
  request: FastifyRequest,
  reply: FastifyReply,
): FastifyReply {
  reply
    .code(answer.status)
    .headers(dialect.headers(request))
    .headers(answer.headers ?? {})
  if (answer.body === undefined) return reply.send()
  if (!reply.hasHeader('content-type')) reply.header('content-type', dialect.contentType)
  return reply.send(typeof answer.body === 'string' ? answer.body : JSON.stringify(answer.body))
}

function requestFacts(request: FastifyRequest, dialect: Dialect): RequestFacts {
  const outerOrigin = findOuterOrigin()
  return {
    id: request.id,
    baseUrl: (outerOrigin ?? originOf(request)) + pathPrefix[dialect.surface],
    path: request.url.split('?', 1)[0] ?? '',
    ifMatch: headerOf(request, 'if-match'),
    ifNoneMatch: headerOf(request, 'if-none-match'),
    preferences: readPreferences(headerOf(request, 'prefer')),
    isInner: outerOrigin !== undefined,
  }
}

function readPreferences(header: string | undefined): ReadonlyMap<string, string> {
  const preferences = new Map<string, string>()
  for (const piece of header?.split(/[,;]/) ?? []) {
    const [name = '', value = ''] = piece.split('=', 2)
    if (name.trim()) preferences.set(name.trim().toLowerCase(), value.trim().replace(/^"|"$/g, ''))
  }
  return preferences
}
