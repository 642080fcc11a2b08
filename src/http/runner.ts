import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Answer, Ask, AuditEntry, Context, Operation } from '../api/operation.ts'
import type { Caller } from '../auth/caller.ts'
import type { Gatekeeper } from '../auth/gatekeeper.ts'
import { writeAuditOf } from '../db/audit.ts'
import type { Database } from '../db/database.ts'
import type { Fragment, Query } from '../db/query.ts'
import { fail } from '../kernel/problem.ts'
import { after, type Soon } from '../kernel/soon.ts'
import { readBody } from './body.ts'
import type { ApiReply, ApiRequest } from './exchange.ts'
import { readQuery } from './query.ts'
import { largeTextLength, readInTurn } from './read-in-turn.ts'
import { HttpFacts } from './request-facts.ts'
import { sendInner } from './send-inner.ts'
import { countUnread, requireReading } from './unread-answers.ts'

export interface Runner {
  readonly database: Database
  readonly gatekeeper: Gatekeeper
  /** Refuses while the service has no room for writes. */
  requireRoom(): void
  /** Handles a request that another one holds. */
  handleInner(request: IncomingMessage, response: ServerResponse): void
}

/** Before the body is read: a stranger's megabyte is not worth receiving. */
export function admit(runner: Runner, request: ApiRequest): Soon<Caller> {
  return after(authenticate(runner, request), (caller) => {
    requireReading(caller.objectId)
    return after(runner.gatekeeper.throttle(caller), () => permit(runner, request, caller))
  })
}

function authenticate({ gatekeeper }: Runner, { headers, raw, route }: ApiRequest): Soon<Caller> {
  const caller = gatekeeper.authenticate(headers.authorization, raw.socket)
  return route.isMe ? after(caller, requirePerson) : caller
}

function requirePerson(caller: Caller): Caller {
  return caller.kind === 'application' ? fail('DelegatedOnly') : caller
}

function permit({ gatekeeper }: Runner, { route, params }: ApiRequest, caller: Caller): Soon<Caller> {
  const { operation } = route
  const permitted = gatekeeper.permit(caller, operation.permission, params, operation.right)
  return after(permitted, () => caller)
}

/** How long a check counts. A write takes longer than another check; a read under load does not. */
const admissionMs = { read: 250, write: 20 }

/**
 * A client sends its body as slowly as it likes, and preparation may wait for another server. When that has taken a
 * while, the caller is checked again: what was revoked meanwhile must not be used.
 */
function readmit(runner: Runner, request: ApiRequest): Soon<Caller> {
  const { caller, admittedAt, route } = request
  const limitMs = readsOnly(route.operation) ? admissionMs.read : admissionMs.write
  if (caller && performance.now() - admittedAt < limitMs) return caller
  return after(authenticate(runner, request), (checked) =>
    after(permit(runner, request, checked), () => {
      request.caller = checked
      request.admittedAt = performance.now()
      return checked
    }),
  )
}

/**
 * DIR-340, MASK-236: asks again before the commit of a write, which has all its locks by then. The statement that writes the
 * audit tells whether there is any doubt about the token. The answer comes from outside of the transaction, whose own
 * changes do not count. Operations of masking ask for the role at the scope of the write (MASK-245).
 */
async function confirm(
  { gatekeeper, database }: Runner,
  caller: Caller,
  asks: ReadonlyMap<string, Ask>,
  isDoubtful: boolean,
): Promise<void> {
  const answers = [...asks.values()].map((ask) => ask(database.aside))
  await Promise.all([isDoubtful && gatekeeper.confirm(caller), ...answers])
}

/** MASK-240: what a read asks that waited, where a write asks at its commit. */
async function confirmRead(runner: Runner, request: ApiRequest, caller: Caller): Promise<void> {
  await Promise.all([runner.gatekeeper.confirm(caller), permit(runner, request, caller)])
}

/** authenticate → permit happened in `admit`; here: parse → run → render. */
export async function perform(runner: Runner, request: ApiRequest, reply: ApiReply): Promise<void> {
  const { operation, ports, dialect } = request.route
  const { database } = runner
  // Before the caller is checked again: a large body may wait.
  const body = readLargeBody(operation, request)
  const large = body && { value: await body }
  const admitted = readmit(runner, request)
  const isRead = readsOnly(operation)
  const facts = new HttpFacts(request, dialect.surface)
  const entries: AuditEntry[] = []
  const asks = new Map<string, Ask>()
  const caller = admitted instanceof Promise ? await admitted : admitted
  let context: Context<unknown, unknown, unknown> = {
    caller,
    params: request.params,
    query: readQuery(operation, request),
    body: large ? large.value : readBody(operation, request),
    tx: database.sql,
    request: facts,
    audit: (entry) => void entries.push(entry),
    askAgain: (about, ask) => void asks.set(about, ask),
    confirm: () => confirmRead(runner, request, caller),
    sendInner: (inner) => sendInner(runner.handleInner, request, inner),
    ports,
  }
  if (!isRead) runner.requireRoom()
  const prepared = operation.prepare && (await operation.prepare(context))
  if (operation.prepare) context = { ...context, caller: await readmit(runner, request) }
  const audit = (tx: Query, question?: Fragment) =>
    writeAuditOf(tx, context.caller, facts.id, entries, question)
  const write = async (tx: Query): Promise<Answer> => {
    // A transaction that is tried again writes what its last try did.
    entries.length = 0
    asks.clear()
    const answer = await operation.run({ ...context, tx }, prepared)
    const { caller } = context
    const said = await audit(tx, runner.gatekeeper.selectDoubt(tx, caller))
    await confirm(runner, caller, asks, said?.doubtful !== false)
    return answer
  }
  const answer = isRead ? await operation.run(context, prepared) : await database.transaction(write)
  if (isRead && entries.length > 0) await audit(database.sql)
  const late = answer.afterCommit && (await answer.afterCommit())
  const told = answer.lateBody ? { ...answer, body: await answer.lateBody() } : answer
  const bytes = render(late ? { ...told, headers: { ...told.headers, ...late } } : told, request, reply)
  // The answer to a request inside another one is read at once.
  if (!facts.isInner) countUnread(context.caller.objectId, bytes, reply.response)
}

/** Undefined for all but very few bodies: a promise is a measurable part of a request. */
function readLargeBody(operation: Operation, request: ApiRequest): Promise<unknown> | undefined {
  const { length } = request.body
  return length >= largeTextLength
    ? readInTurn(request.caller?.objectId ?? '', length, () => readBody(operation, request))
    : undefined
}

function readsOnly({ method, reads }: Operation): boolean {
  return method === 'GET' || reads === true
}

/** Returns how long the body is. */
function render(answer: Answer, request: ApiRequest, reply: ApiReply): number {
  const { operation, dialect } = request.route
  const { headers, body } = answer
  const { headStatus } = operation
  const status = (request.method === 'HEAD' && answer.status === 200 && headStatus) || answer.status
  reply.code(status).headers(dialect.headers(request))
  if (body === undefined || status === 204) {
    if (headers) reply.headers(headers)
    reply.send()
    return 0
  }
  reply.header('content-type', dialect.contentType)
  if (headers) reply.headers(headers)
  const text = dialect.write(body, request)
  reply.send(text)
  return text.length
}
