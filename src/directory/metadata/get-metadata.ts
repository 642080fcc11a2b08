import { type TSchema, Type } from 'typebox'
import { type Operation, ok } from '../../api/operation.ts'
import { appRoleAssignment } from '../app-roles/app-role-assignments.ts'
import { directoryAudits } from '../audit-logs/directory-audits.ts'
import { signIns } from '../audit-logs/sign-ins.ts'
import { namespace } from '../entities/show-entity.ts'
import { extensionProperty } from '../extensions/definitions/extension-properties.ts'
import { schemaExtension } from '../extensions/definitions/schema-extensions.ts'
import { itemKinds, itemResource } from '../items/item-resources.ts'
import { domains } from '../objects/domains.ts'
import { objectProperties } from '../objects/kinds/resource.ts'
import { resources } from '../objects/kinds/resources.ts'
import { type DirectoryPorts, operation } from '../operation.ts'
import { roleAssignments } from '../role-management/role-assignments.ts'
import { roleDefinitions } from '../role-management/role-definitions.ts'
import { describeBound, describeReturned } from './bound-operations.ts'
import { describeEntity, describeSchema } from './describe-types.ts'
import { navigation } from './navigation.ts'
import { type Element, element, renderXml } from './xml.ts'

type Operations = readonly Operation<DirectoryPorts>[]

const base = `${namespace}.directoryObject`

/** Entities with a table of properties that are no directory objects. */
const tables = [
  ...itemKinds.map(itemResource),
  domains,
  roleDefinitions,
  roleAssignments,
  appRoleAssignment,
  directoryAudits,
  signIns,
  schemaExtension,
  extensionProperty,
]

/** Entity types that the answer of an operation describes. */
const answered = {
  directoryRoleTemplate: 'getDirectoryRoleTemplate',
  oAuth2PermissionGrant: 'getOauth2PermissionGrant',
  subscription: 'getSubscription',
} as const

/** Types without properties of their own: they lead to others. */
const roots = ['todo', 'directory', 'roleManagement', 'rbacApplication', 'auditLogRoot']

const singletons = {
  me: 'user',
  directory: 'directory',
  roleManagement: 'roleManagement',
  auditLogs: 'auditLogRoot',
}

function linksOf(type: string): Element[] {
  return navigation
    .filter(({ from }) => from === type)
    .map(({ name, to, collection, target }) =>
      element('NavigationProperty', {
        Name: name,
        Type: collection ? `Collection(${namespace}.${to})` : `${namespace}.${to}`,
        ...(!target && { ContainsTarget: 'true' }),
      }),
    )
}

function bindingsOf(type: string): Element[] {
  return navigation.flatMap(({ from, name, target }) =>
    from === type && target ? [element('NavigationPropertyBinding', { Path: name, Target: target })] : [],
  )
}

function describeTypes(operations: Operations): Element[] {
  const answerOf = (name: string) => operations.find((one) => one.name === name)?.answers[200] as TSchema
  const extension = [
    element('EntityType', { Name: 'extension', Abstract: 'true' }, [
      element('Key', {}, [element('PropertyRef', { Name: 'id' })]),
      element('Property', { Name: 'id', Type: 'Edm.String', Nullable: 'false' }),
    ]),
    element(
      'EntityType',
      { Name: 'openTypeExtension', BaseType: `${namespace}.extension`, OpenType: 'true' },
      [element('Property', { Name: 'extensionName', Type: 'Edm.String' })],
    ),
  ]
  return [
    ...describeEntity({ kind: 'directoryObject', properties: objectProperties }, []),
    ...Object.values(resources).flatMap((one) => describeEntity(one, linksOf(one.kind), base)),
    ...tables.flatMap((one) => describeEntity(one, linksOf(one.kind))),
    ...Object.entries(answered).flatMap(([type, name]) => describeSchema('EntityType', type, answerOf(name))),
    ...extension,
    ...roots.map((type) => element('EntityType', { Name: type }, linksOf(type))),
    ...describeReturned(operations),
    ...describeBound(operations),
  ]
}

function describeContainer(): Element {
  const sets: Readonly<Record<string, string>> = {
    directoryObjects: 'directoryObject',
    ...Object.fromEntries(Object.values(resources).map(({ set, kind }) => [set, kind])),
    domains: 'domain',
    directoryRoleTemplates: 'directoryRoleTemplate',
    oauth2PermissionGrants: 'oAuth2PermissionGrant',
    schemaExtensions: 'schemaExtension',
    subscriptions: 'subscription',
  }
  return element('EntityContainer', { Name: 'GraphService' }, [
    ...Object.entries(sets).map(([Name, type]) =>
      element('EntitySet', { Name, EntityType: `${namespace}.${type}` }, bindingsOf(type)),
    ),
    ...Object.entries(singletons).map(([Name, type]) =>
      element('Singleton', { Name, Type: `${namespace}.${type}` }, bindingsOf(type)),
    ),
  ])
}

function describeService(operations: Operations): string {
  const attributes = { Namespace: namespace, xmlns: 'http://docs.oasis-open.org/odata/ns/edm' }
  const schema = element('Schema', attributes, [...describeTypes(operations), describeContainer()])
  const edmx = 'http://docs.oasis-open.org/odata/ns/edmx'
  const services = element('edmx:DataServices', {}, [schema])
  return renderXml(element('edmx:Edmx', { Version: '4.0', 'xmlns:edmx': edmx }, [services]))
}

/** Describes the service by the same tables and schemas that its operations go by. */
export function getMetadata(operations: Operations) {
  let document: string | undefined
  return operation({
    name: 'getMetadata',
    clause: 'DIR-144',
    summary: 'Describe the types of the directory as CSDL',
    method: 'GET',
    path: '/$metadata',
    permission: { anyCaller: 'it describes types and shows no data' },
    answers: { 200: Type.String({ contentMediaType: 'application/xml' }) },
    async run() {
      document ??= describeService(operations)
      return ok(document, { 'content-type': 'application/xml;charset=utf-8' })
    },
  })
}
