import { Type } from 'typebox'
import { ok } from '../../api/operation.ts'
import { namespace } from '../entities/show-entity.ts'
import { itemKinds, itemResource } from '../items/item-resources.ts'
import { type Relation, relations } from '../membership/relations.ts'
import { domains } from '../objects/domains.ts'
import { objectProperties } from '../objects/kinds/resource.ts'
import { resources } from '../objects/kinds/resources.ts'
import { operation } from '../operation.ts'
import { roleAssignments } from '../role-management/role-assignments.ts'
import { roleDefinitions } from '../role-management/role-definitions.ts'
import { describeEntity } from './describe-types.ts'
import { type Element, element, renderXml } from './xml.ts'

const base = `${namespace}.directoryObject`

function relationsOf(set: string): Element[] {
  return relations
    .filter(({ path }) => path === `/${set}/:id`)
    .map((relation) => element('NavigationProperty', { Name: relation.name, Type: targetOf(relation) }))
}

function targetOf({ to, single }: Relation): string {
  const target = to.length === 1 ? `${namespace}.${to[0]}` : base
  return single ? target : `Collection(${target})`
}

/** The actions on memberships, which every directory object has. */
const actions = [
  { name: 'getMemberGroups', parameter: ['securityEnabledOnly', 'Edm.Boolean'] },
  { name: 'getMemberObjects', parameter: ['securityEnabledOnly', 'Edm.Boolean'] },
  { name: 'checkMemberGroups', parameter: ['groupIds', 'Collection(Edm.String)'] },
  { name: 'checkMemberObjects', parameter: ['ids', 'Collection(Edm.String)'] },
].map(({ name, parameter: [parameter = '', type = ''] }) =>
  element('Action', { Name: name, IsBound: 'true' }, [
    element('Parameter', { Name: 'bindingParameter', Type: base }),
    element('Parameter', { Name: parameter, Type: type, Nullable: 'false' }),
    element('ReturnType', { Type: 'Collection(Edm.String)', Nullable: 'false' }),
  ]),
)

function describeService(): string {
  const objects = Object.values(resources)
  const schema = element(
    'Schema',
    { Namespace: namespace, xmlns: 'http://docs.oasis-open.org/odata/ns/edm' },
    [
      ...describeEntity({ kind: 'directoryObject', properties: objectProperties }),
      ...objects.flatMap((one) => describeEntity(one, { base, relations: relationsOf(one.set) })),
      ...itemKinds.flatMap((kind) => describeEntity(itemResource(kind))),
      ...[domains, roleDefinitions, roleAssignments].flatMap((one) => describeEntity(one)),
      ...actions,
      element('EntityContainer', { Name: 'GraphService' }, [
        element('EntitySet', { Name: 'directoryObjects', EntityType: base }),
        ...objects.map(({ set, kind }) => describeSet(set, kind)),
        describeSet(domains.set, domains.kind),
        element('Singleton', { Name: 'me', Type: `${namespace}.user` }),
      ]),
    ],
  )
  const edmx = 'http://docs.oasis-open.org/odata/ns/edmx'
  const services = element('edmx:DataServices', {}, [schema])
  return renderXml(element('edmx:Edmx', { Version: '4.0', 'xmlns:edmx': edmx }, [services]))
}

function describeSet(set: string, kind: string): Element {
  const bindings = relations
    .filter(({ path }) => path === `/${set}/:id`)
    .map((relation) => {
      const [only] = relation.to
      const Target = relation.to.length === 1 && only ? resources[only].set : 'directoryObjects'
      return element('NavigationPropertyBinding', { Path: relation.name, Target })
    })
  return element('EntitySet', { Name: set, EntityType: `${namespace}.${kind}` }, bindings)
}

/** Made of the same tables that the operations go by. */
const document = describeService()

export const getMetadata = operation({
  name: 'getMetadata',
  clause: 'DIR-144',
  summary: 'Describe the types of the directory as CSDL',
  method: 'GET',
  path: '/$metadata',
  permission: { anyCaller: 'it describes types and shows no data' },
  answers: { 200: Type.String() },
  run: async () => ok(document, { 'content-type': 'application/xml;charset=utf-8' }),
})
