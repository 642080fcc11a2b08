import { type TObject, type TSchema, Type } from 'typebox'
import {
  type Answer,
  type AuditEntry,
  created,
  noContent,
  type Operation,
  ok,
  type Preparation,
  type RequestFacts,
} from '../api/operation.ts'
import type { Caller } from '../auth/caller.ts'
import type { Params } from '../auth/permission.ts'
import type { Query } from '../db/query.ts'
import { fail } from '../kernel/problem.ts'
import { checkConditions, entityTag } from './entity-tag.ts'
import { type MaskingPorts, namespaceOfRequest, operation } from './operation.ts'
import { decodeSkipToken, encodeSkipToken, nextLink } from './page.ts'
import { canonicalNamespace, fillPath, scopeOf } from './place.ts'
import { requireRole } from './role-assignments/confirm-role.ts'

/** The facts of a request that every step of its operation needs. */
export interface Site {
  readonly tenantId: string
  readonly caller: Caller
  readonly params: Params
  /** The provider namespace that the caller used. */
  readonly namespace: string
  /** The version that the caller asked for. */
  readonly apiVersion: string | undefined
  readonly tx: Query
  readonly request: RequestFacts
  readonly ports: MaskingPorts
}

export type Audit = (entry: AuditEntry) => void

type AnyContext = Preparation<MaskingPorts, unknown, unknown>

export function siteOf({ params, caller, tx, request, ports }: AnyContext): Site {
  const namespace = namespaceOfRequest({ request, ports })
  const { apiVersion } = request
  return { tenantId: caller.tenantId, caller, params, namespace, apiVersion, tx, request, ports }
}

/** A resource as the API shows it, under the namespace and in the version that the caller used. */
type Render<Item> = (item: Item, namespace: string, apiVersion?: string) => { readonly id: string }

/** A kind of resource whose list has the usual form. */
export interface ListedKind<Item, Parent = undefined> {
  /** As it stands in the name of the operation: list{plural}. */
  readonly plural: string
  readonly clause: string
  readonly listClause?: string
  readonly summary: { readonly list: string }
  /** Without its verb: `…/read`, `…/delete`. */
  readonly action: string
  readonly apiVersions: readonly string[]
  readonly listPath: string | readonly string[]
  readonly listQuery?: TObject
  readonly answer: TSchema
  /** Refuses names in the path that nothing can have, then finds what the resource hangs on; locked for a change. */
  findParent(site: Site, isChange: boolean): Promise<Parent>
  /** `after` is the page key of the last item of the page before; `limit` is one more than a page holds. */
  list(
    site: Site,
    parent: Parent,
    page: { readonly after: string; readonly limit: number; readonly filter: string | undefined },
  ): Promise<readonly Item[]>
  /** Of kinds whose lists have pages. */
  readonly pageKeyOf?: (item: Item) => string
  readonly render: Render<Item>
  /** Adds to an answer what the parent has to say. */
  readonly finish?: (answer: Answer, parent: Parent, ports: MaskingPorts, isChanged: boolean) => Answer
}

/** A kind of resource that is read and deleted in the usual form as well. */
export interface Kind<Item, Parent = undefined> extends ListedKind<Item, Parent> {
  /** As it stands in the names of operations: get{noun}, delete{noun}. */
  readonly noun: string
  readonly summary: { readonly get: string; readonly list: string; readonly delete: string }
  readonly path: string | readonly string[]
  /** The deleted resource is the body of the answer. */
  readonly showsDeleted?: true
  find(site: Site, parent: Parent, isChange: boolean): Promise<Item | null>
  readonly versionOf?: (item: Item) => number
  remove(site: Site, item: Item, parent: Parent): Promise<void>
  /** Removes rows that name the resource by its path, whether or not the resource itself was there. */
  readonly removeRemains?: (site: Site, audit: Audit) => Promise<void>
}

const pageSize = 1000

export function getOf<Item, Parent>(kind: Kind<Item, Parent>): Operation<MaskingPorts> {
  return operation({
    name: `get${kind.noun}`,
    clause: kind.clause,
    summary: kind.summary.get,
    method: 'GET',
    path: kind.path,
    apiVersions: kind.apiVersions,
    permission: { action: `${kind.action}/read`, scope: scopeOf },
    answers: { 200: kind.answer },

    async run(context) {
      const site = siteOf(context)
      const parent = await kind.findParent(site, false)
      const item = await kind.find(site, parent, false)
      if (!item) fail('ResourceNotFound', { id: idAt(kind, site) })
      const version = kind.versionOf?.(item)
      const shown = kind.render(item, site.namespace, site.apiVersion)
      const answer = version === undefined ? ok(shown) : ok(shown, entityTag(version))
      return finish(kind, answer, parent, site, false)
    },
  })
}

export function listOf<Item, Parent>(kind: ListedKind<Item, Parent>): Operation<MaskingPorts> {
  const { pageKeyOf, listQuery } = kind
  const query = pageKeyOf ? Type.Object({ $skipToken: Type.Optional(Type.String()) }) : listQuery
  const value = Type.Array(kind.answer)
  return operation({
    name: `list${kind.plural}`,
    clause: kind.listClause ?? kind.clause,
    summary: kind.summary.list,
    method: 'GET',
    path: kind.listPath,
    apiVersions: kind.apiVersions,
    permission: { action: `${kind.action}/read`, scope: scopeOf },
    ...(query && { query }),
    answers: {
      200: Type.Object(
        pageKeyOf ? { value, nextLink: Type.Optional(Type.String({ format: 'uri' })) } : { value },
      ),
    },

    async run(context) {
      const site = siteOf(context)
      const options = context.query as Readonly<Record<string, string | undefined>>
      const parent = await kind.findParent(site, false)
      const [after = ''] = pageKeyOf ? (decodeSkipToken(options.$skipToken, 1) ?? []) : []
      const found = await kind.list(site, parent, { after, limit: pageSize + 1, filter: options.$filter })
      const page = pageKeyOf ? found.slice(0, pageSize) : found
      const last = page.at(-1)
      const more =
        pageKeyOf && last !== undefined && found.length > pageSize
          ? {
              'api-version': site.apiVersion ?? kind.apiVersions[0],
              $skipToken: encodeSkipToken([pageKeyOf(last)]),
            }
          : undefined
      const body = {
        value: page.map((item) => kind.render(item, site.namespace, site.apiVersion)),
        ...(more && { nextLink: nextLink(site.request, more) }),
      }
      return finish(kind, ok(body), parent, site, false)
    },
  })
}

export function deleteOf<Item, Parent>(kind: Kind<Item, Parent>): Operation<MaskingPorts> {
  const action = `${kind.action}/delete`
  return operation({
    name: `delete${kind.noun}`,
    clause: kind.clause,
    summary: kind.summary.delete,
    method: 'DELETE',
    path: kind.path,
    apiVersions: kind.apiVersions,
    permission: { action, scope: scopeOf },
    answers: { 200: kind.showsDeleted ? kind.answer : null, 204: null },

    async run(context) {
      const site = siteOf(context)
      const parent = await kind.findParent(site, true)
      const item = await kind.find(site, parent, true)
      await requireRole(site, action)
      if (kind.versionOf) checkConditions(site.request, item ? kind.versionOf(item) : null)
      if (item) await kind.remove(site, item, parent)
      await kind.removeRemains?.(site, context.audit)
      if (!item) return finish(kind, noContent, parent, site, false)
      auditChange(context.audit, action, kind.render, item, undefined)
      const answer = kind.showsDeleted
        ? ok(kind.render(item, site.namespace, site.apiVersion))
        : { status: 200 }
      return finish(kind, answer, parent, site, true)
    },
  })
}

function finish<Item, Parent>(
  kind: ListedKind<Item, Parent>,
  answer: Answer,
  parent: Parent,
  { ports }: Site,
  isChanged: boolean,
): Answer {
  return kind.finish ? kind.finish(answer, parent, ports, isChanged) : answer
}

function idAt(
  { path }: { readonly path: string | readonly string[] },
  { params, namespace, request }: Site,
): string {
  return typeof path === 'string' ? fillPath(path, params, namespace) : request.path
}

/** Writes the audit entry of a change; `before` is null for a creation, `after` undefined for a deletion. */
export function auditChange<Item>(
  audit: Audit,
  action: string,
  render: Render<Item>,
  before: Item | null,
  after: Item | undefined,
): void {
  const [old, now] = [before, after].map((item) => item && render(item, canonicalNamespace))
  const target = (now ?? old)?.id ?? ''
  audit({ action, target, before: old, ...(now && { after: now }) })
}

/** 201 for a new resource, 200 for a changed one, with its entity tag. */
export function answerStored(shown: unknown, version: number, isNew: boolean): Answer {
  return isNew ? created(shown, entityTag(version)) : ok(shown, entityTag(version))
}
