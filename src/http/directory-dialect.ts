import { describe, Problem } from '../kernel/problem.ts'
import { isAliased, isDirectoryPath } from '../kernel/surface.ts'
import { clientRequestId, type Dialect, writeBody } from './dialect.ts'
import { nameAliased, writeAliased } from './write-aliased.ts'

/** Graph's manners. */
export const directoryDialect: Dialect = {
  surface: 'directory',
  contentType:
    'application/json;odata.metadata=minimal;odata.streaming=true;IEEE754Compatible=false;charset=utf-8',

  owns: isDirectoryPath,

  unknownPath: (_path, deadEnd) => new Problem('UnknownSegment', { segment: deadEnd }),

  headers(request) {
    return {
      'request-id': request.id,
      'client-request-id': clientRequestId(request, 'client-request-id') ?? request.id,
      'odata-version': '4.0',
      'cache-control': 'no-store',
    }
  },

  errorBody(problem, request) {
    const { code, message } = describe(problem, 'directory')
    return {
      error: {
        code,
        message: isAliased(request.originalUrl) ? nameAliased(message) : message,
        ...(problem.details && { details: problem.details }),
        innerError: {
          date: new Date().toISOString().slice(0, 19),
          'request-id': request.id,
          'client-request-id': clientRequestId(request, 'client-request-id') ?? request.id,
        },
      },
    }
  },

  write: (body, request) => (isAliased(request.originalUrl) ? writeAliased(body) : writeBody(body)),
}
