import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Answer, AuditEntry, Context, InnerRequest, Operation } from '../api/operation.ts'
import type { Caller } from '../auth/caller.ts'
import type { Gatekeeper } from '../auth/gatekeeper.ts'
import type { Params } from '../auth/permission.ts'
import { writeAuditOf } from '../db/audit.ts'
import type { Database } from '../db/database.ts'
import type { Query } from '../db/query.ts'
import { fail } from '../kernel/problem.ts'
import { readBody } from './body.ts'
import type { Dialect } from './dialect.ts'
import { readQuery } from './query.ts'
import { HttpFacts } from './request-facts.ts'
import { sendInner } from './send-inner.ts'

export interface Runner {
  readonly database: Database
  readonly gatekeeper: Gatekeeper
  /** Refuses while the service has no room for writes. */
  requireRoom(): void
}

/** An operation at one of its paths. */
export interface Route {
  readonly operation: Operation
  readonly ports: unknown
  readonly dialect: Dialect
  /** `/me` is the signed-in user, and with an application's token there is none: whatever its permissions. */
  readonly isMe: boolean
}

/** Before the body is read: a stranger's megabyte is not worth receiving. */
export async function admit(runner: Runner, route: Route, request: FastifyRequest): Promise<Caller> {
  const caller = await authenticate(runner, route, request)
  const throttled = runner.gatekeeper.throttle(caller)
  if (throttled) await throttled
  await permit(runner, route, request, caller)
  return caller
}

async function authenticate(
  { gatekeeper }: Runner,
  { isMe }: Route,
  { headers, raw }: FastifyRequest,
): Promise<Caller> {
  const caller = await gatekeeper.authenticate(headers.authorization, raw.socket)
  if (isMe && caller.kind === 'application') fail('DelegatedOnly')
  return caller
}

async function permit(
  { gatekeeper }: Runner,
  { operation }: Route,
  { params }: FastifyRequest,
  caller: Caller,
): Promise<void> {
  await gatekeeper.permit(caller, operation.permission, params as Params, operation.right)
}

/** How long a check counts. A write takes longer than another check; a read under load does not. */
const admissionMs = { read: 250, write: 20 }

/**
 * A client sends its body as slowly as it likes, and preparation may wait for another server. When that has taken a
 * while, the caller is checked again: what was revoked meanwhile must not be used.
 */
async function readmit(runner: Runner, route: Route, request: FastifyRequest): Promise<Caller> {
  const { caller, admittedAt } = request
  const limitMs = readsOnly(route.operation) ? admissionMs.read : admissionMs.write
  if (caller && performance.now() - admittedAt < limitMs) return caller
  const checked = await authenticate(runner, route, request)
  await permit(runner, route, request, checked)
  request.caller = checked
  request.admittedAt = performance.now()
  return checked
}

/** authenticate → permit happened in `admit`; here: parse → run → render. */
export async function perform(
  runner: Runner,
  route: Route,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<void> {
  const { operation, ports, dialect } = route
  const admitted = await readmit(runner, route, request)
  const query = readQuery(operation, request)
  const body = readBody(operation, request)
  const isRead = readsOnly(operation)
  if (!isRead) runner.requireRoom()
  const facts = new HttpFacts(request, dialect.surface)
  const known = {
    params: request.params as Params,
    query,
    body,
    request: facts,
    sendInner: (inner: InnerRequest) => sendInner(request, inner),
    ports,
  }
  const { sql } = runner.database
  const prepared = operation.prepare && (await operation.prepare({ ...known, caller: admitted, tx: sql }))
  const caller = operation.prepare ? await readmit(runner, route, request) : admitted
  const run = async (tx: Query): Promise<Answer> => {
    const entries: AuditEntry[] = []
    const audit = (entry: AuditEntry) => void entries.push(entry)
    const context: Context<unknown, unknown, unknown> = { ...known, caller, tx, audit }
    const answer = await operation.run(context, prepared)
    if (entries.length > 0) await writeAuditOf(tx, caller, facts.id, entries)
    return answer
  }
  const answer = await (isRead ? run(sql) : runner.database.transaction(run))
  const late = answer.afterCommit && (await answer.afterCommit())
  const told = answer.lateBody ? { ...answer, body: await answer.lateBody() } : answer
  render(late ? { ...told, headers: { ...told.headers, ...late } } : told, dialect, request, reply)
}

function readsOnly({ method, reads }: Operation): boolean {
  return method === 'GET' || reads === true
}

function render(answer: Answer, dialect: Dialect, request: FastifyRequest, reply: FastifyReply): void {
  reply.code(answer.status).headers(dialect.headers(request))
  if (answer.headers) reply.headers(answer.headers)
  if (answer.body === undefined) {
    reply.send()
    return
  }
  if (!reply.hasHeader('content-type')) reply.header('content-type', dialect.contentType)
  reply.send(dialect.write(answer.body, request))
}
