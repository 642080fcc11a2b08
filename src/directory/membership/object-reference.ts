import { fail } from '../../kernel/problem.ts'
import { isUuid } from '../../kernel/uuid.ts'
import type { ObjectKind } from '../objects/kinds/resource.ts'
import { principalNameForm } from '../objects/kinds/user.ts'

/** The id in a path, in the spelling in which ids are stored. */
export function readObjectId(text: string | undefined): string {
  if (text === undefined || !isUuid(text))
    return fail('InvalidObjectIdentifier', { id: (text ?? '').slice(0, 200) })
  return text.toLowerCase()
}

/** A directory object as its URL names it: by key, and by kind unless the path begins with directoryObjects. */
export interface ObjectReference {
  /** An id in lower case, or the userPrincipalName of a user. */
  readonly key: string
  readonly kind: ObjectKind | undefined
}

const kindOfSet: ReadonlyMap<string, ObjectKind | undefined> = new Map([
  ['directoryobjects', undefined],
  ['users', 'user'],
  ['groups', 'group'],
  ['devices', 'device'],
  ['serviceprincipals', 'servicePrincipal'],
  ['contacts', 'orgContact'],
])

const maxLength = 2048

/** Reads the URL of an object to refer to. Its host is ignored: behind a proxy, clients use hosts that we do not know. */
export function readReference(value: unknown, property: string): ObjectReference {
  // URL.parse drops blanks and control characters: a reference with them would be read as another.
  const isPlain = typeof value === 'string' && value.length <= maxLength && !/[\p{Cc}\s]/u.test(value)
  const url = isPlain ? URL.parse(value) : null
  if (!url || !/^https?:$/.test(url.protocol) || url.search || url.hash || url.username || url.password)
    return refuse(property)
  const parts =
    /\/([a-z]+)(?:\/([^/()]+)|\(([\da-f-]{36})\)|\((?:(?:id|userPrincipalName)=)?'([^/()]+)'\))\/?$/i.exec(
      decodePath(url.pathname) ?? '',
    )
  const [, set = '', segment, id, quoted] = parts ?? []
  const key = segment ?? id ?? quoted?.replaceAll("''", "'")
  const kind = kindOfSet.get(set.toLowerCase())
  if (key === undefined || !kindOfSet.has(set.toLowerCase())) return refuse(property)
  if (isUuid(key)) return { key: key.toLowerCase(), kind }
  return kind === 'user' && principalNameForm.test(key) ? { key, kind } : refuse(property)
}

function decodePath(path: string): string | undefined {
  try {
    return decodeURIComponent(path)
  } catch {
    return undefined
  }
}

function refuse(property: string): never {
  return fail('InvalidReference', { property }, { target: property })
}
