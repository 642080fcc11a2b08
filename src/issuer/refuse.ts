import type { ServerResponse } from 'node:http'
import { renderErrorPage } from './library-pages.ts'
import { contentSecurityPolicy } from './page.ts'
import { routes } from './route.ts'

/** A device reads JSON; every other endpoint with limits is opened by a person. */
export function refuseLong(response: ServerResponse, path: string): void {
  const [error, description] = ['invalid_request', 'The request or one of its parameters is too long.']
  if (path === routes.device_authorization) {
    refuse(response, 400, error, description)
    return
  }
  response
    .writeHead(400, {
      'content-type': 'text/html; charset=utf-8',
      'cache-control': 'no-store',
      'content-security-policy': contentSecurityPolicy(),
    })
    .end(renderErrorPage(error, description))
}

export function refuse(response: ServerResponse, status: number, error: string, description: string): void {
  response
    .writeHead(status, { 'content-type': 'application/json; charset=utf-8', 'cache-control': 'no-store' })
    .end(JSON.stringify({ error, error_description: description }))
}
