import { describe, Problem } from '../kernel/problem.ts'
import { pathPrefix } from '../kernel/surface.ts'
import { clientRequestId, type Dialect, headerOf, writeBody } from './dialect.ts'

/** ARM's manners. Also the shape for paths that belong to neither API. */
export const maskingDialect: Dialect = {
  surface: 'masking',
  contentType: 'application/json; charset=utf-8',

  owns: (path) => !path.toLowerCase().startsWith(pathPrefix.directory),

  unknownPath: (path) => new Problem('UnknownPath', { path: path.slice(0, 300) }),

  headers(request) {
    const headers: Record<string, string> = {
      'x-ms-request-id': request.id,
      'x-ms-correlation-request-id': clientRequestId(request, 'x-ms-correlation-request-id') ?? request.id,
      'cache-control': 'no-store',
    }
    const sent = clientRequestId(request, 'x-ms-client-request-id')
    if (sent && headerOf(request, 'x-ms-return-client-request-id')?.toLowerCase() === 'true')
      headers['x-ms-client-request-id'] = sent
    return headers
  },

  errorBody(problem) {
    const { code, message } = describe(problem, 'masking')
    const { target, details } = problem
    return { error: { code, message, ...(target && { target }), ...(details && { details }) } }
  },

  write: writeBody,
}
