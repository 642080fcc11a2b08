import type { Logger } from 'pino'
import { translateDatabaseError } from '../db/sqlstate.ts'
import { Problem } from '../kernel/problem.ts'
import { type Dialect, sendProblem } from './dialect.ts'
import type { HttpReply, HttpRequest } from './http-message.ts'

interface Refused {
  readonly request: HttpRequest
  readonly reply: HttpReply
  readonly dialect: Dialect
  readonly operationName: string
}

/** Answers with the error. One that is ours to mend goes to the log, and the client learns no more than its request id. */
export function answerProblem(log: Logger, error: unknown, refused: Refused): unknown {
  const { request, reply, dialect, operationName: operation } = refused
  const problem = asProblem(error)
  if (problem.problem === 'InternalServerError')
    log.error({ err: problem.cause, requestId: request.id, operation }, 'unexpected error')
  return sendProblem(reply, request, problem, dialect)
}

/** The framework's own refusals become ours; everything else is a bug and says nothing. */
export function asProblem(error: unknown): Problem {
  if (error instanceof Problem) return error
  const code = (error as { code?: string } | null)?.code ?? ''
  if (code === 'FST_ERR_CTP_INVALID_MEDIA_TYPE') return new Problem('UnsupportedMediaType', { mediaType: '' })
  if (code === 'FST_ERR_BAD_URL') return new Problem('MalformedUrl')
  const translated = translateDatabaseError(error)
  return translated instanceof Problem
    ? translated
    : new Problem('InternalServerError', {}, { cause: translated })
}
