import { isDirectoryPath, namespacePattern, withoutAlias, withoutDirectoryPrefix } from '../kernel/surface.ts'
import { uuidPattern } from '../kernel/uuid.ts'

/**
 * One spelling for the many that OData allows: `/users('a@b.c')/extensions('x')` becomes `/users/a@b.c/extensions/x`.
 * Also heals what the official Graph client sends over plain HTTP when it follows a next link:
 * `/v1.0/http://host/v1.0/users`.
 */
export function normalizeUrl(sent: string): string {
  const url = withoutAlias(sent)
  if (!unusual.test(url)) return url
  const question = url.indexOf('?')
  const path = question < 0 ? url : url.slice(0, question)
  const query = question < 0 ? '' : url.slice(question)
  return keysAsSegments(unwrapNextLink(path)) + query
}

/** No other URL is changed by any of the rules below. Nearly all requests end here. */
const unusual = /[(%:]|graph\.|childFolders/i

function unwrapNextLink(path: string): string {
  const inner = /^\/https?:\/{1,2}[^/]+(\/.*)$/i.exec(withoutDirectoryPrefix(path))?.[1]
  return inner !== undefined && isDirectoryPath(path) && isDirectoryPath(inner) ? withoutAlias(inner) : path
}

// Quotes inside a key are doubled: ('o''neil'). The same with percent-encoded quotes and parentheses. A key may have its
// name: (id='…') is ('…'), and so is (userPrincipalName='…'), which users are found by as well. An alternate key keeps its
// name: (appId='…').
const quotedKey =
  /(?<=[A-Za-z])(?:\(|%28)(?:([A-Za-z]+)(?:=|%3d))?(?:'|%27)((?:[^'%/]|''|%27%27|%(?!27|29|2f)[0-9a-f]{2})+)(?:'|%27)(?:\)|%29)(?=\/|$)/gi
const guidKey = new RegExp(`(?<=[A-Za-z])(?:\\(|%28)(?:id(?:=|%3d))?(${uuidPattern})(?:\\)|%29)(?=/|$)`, 'gi')
const plainKey = /^(?:id|userPrincipalName)$/i
/** Client libraries may encode the dollar sign of `$ref`, `$count` and the like. */
const encodedDollar = /\/%24(?=(?:ref|count|value|batch|metadata)$)/i

// Some clients call actions by their full names, or with the empty parentheses of a function. The name of an extension
// is not for us to change.
const qualifiedAction = new RegExp(
  `(?<!/extensions)/(?:${namespacePattern}\\.)?((?:check|get)Member(?:Groups|Objects)|getByIds|explainMembership|restore|invite|revokeSignInSessions|addPassword|removePassword|changePassword|reply|getAvailableExtensionProperties|carriedRights|delta)(?:\\(\\))?$`,
  'i',
)

function keysAsSegments(path: string): string {
  if (!isDirectoryPath(path)) return path
  const plain = path
    .replace(quotedKey, keyAsSegment)
    .replace(guidKey, '/$1')
    .replace(qualifiedAction, '/$1')
    .replace(encodedDollar, '/$$')
  return foldChildFolders(plain)
}

function keyAsSegment(_whole: string, name: string | undefined, value: string): string {
  return `/${name === undefined || plainKey.test(name) ? '' : `${name}=`}${value.replaceAll(/''|%27%27/g, "'")}`
}

/** Folders nest to any depth, routes do not: `/childFolders/a/childFolders/b` becomes `/childFolders/a%2Fb`. */
function foldChildFolders(path: string): string {
  return path.replace(/(?<=\/childFolders\/[^/]+)(?:\/childFolders\/[^/]+)+/gi, (inner) =>
    inner.replaceAll(/\/childFolders\//gi, '%2F'),
  )
}
