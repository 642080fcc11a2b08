import type { ServerResponse } from 'node:http'
import { aliasPrefix } from '../kernel/surface.ts'

/** Versions in which the answer is the description itself, those with a list of one, and the first with a short form. */
const plainVersions = ['2022-09-01', '2023-01-01']
const listVersions = ['2018-05-01', '2019-05-01', '2019-10-01', '2020-06-01', '2020-09-01', '2021-01-01']
const firstVersion = '2015-01-01'

/** Answers where sign-in, management and directory are: all of them at this service. It holds nothing but addresses. */
export function sendCloud(response: ServerResponse, url: string, origin: string): void {
  const sent = new URL(url, origin).searchParams
  const version = [...sent].find(([name]) => name.toLowerCase() === 'api-version')?.[1] ?? ''
  const body = describeCloud(version, origin)
  response
    .writeHead(body ? 200 : 400, {
      'content-type': 'application/json; charset=utf-8',
      'access-control-allow-origin': '*',
    })
    .end(JSON.stringify(body ?? refusal(version)))
}

function describeCloud(version: string, origin: string): object | null {
  const authentication = {
    loginEndpoint: origin,
    audiences: [origin],
    tenant: 'common',
    identityProvider: 'AAD',
  }
  const graph = origin + aliasPrefix
  if (version === firstVersion)
    return { galleryEndpoint: origin, graphEndpoint: graph, portalEndpoint: origin, authentication }
  const cloud = {
    name: 'Masquerade',
    portal: origin,
    authentication,
    resourceManager: origin,
    sqlManagement: origin,
    graph,
    graphAudience: graph,
    microsoftGraphResourceId: graph,
    gallery: origin,
    suffixes: { sqlServerHostname: '.localhost' },
  }
  if (plainVersions.includes(version)) return cloud
  return listVersions.includes(version) ? [cloud] : null
}

function refusal(version: string): object {
  const supported = [firstVersion, ...listVersions, ...plainVersions].join(', ')
  return version === ''
    ? {
        error: {
          code: 'MissingApiVersionParameter',
          message: `The api-version is missing. Supported: ${supported}.`,
        },
      }
    : {
        error: {
          code: 'InvalidApiVersionParameter',
          message: `The api-version is not supported. Supported: ${supported}.`,
        },
      }
}
