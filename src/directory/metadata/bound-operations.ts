import type { TSchema } from 'typebox'
import type { Operation } from '../../api/operation.ts'
import { namespace } from '../entities/show-entity.ts'
import { describeSchema, typeOfSchema } from './describe-types.ts'
import { type Element, element } from './xml.ts'

/** An action or function: its name is the last segment of its path. */
interface Bound {
  readonly name: string
  /** The types that it is called on. */
  readonly on: readonly string[]
  readonly isFunction?: true
  /** Undefined: it returns nothing. */
  readonly returns?: string
}

const object = `${namespace}.directoryObject`
const strings = 'Collection(Edm.String)'

const bound: readonly Bound[] = [
  { name: 'getMemberGroups', on: [object], returns: strings },
  { name: 'getMemberObjects', on: [object], returns: strings },
  { name: 'checkMemberGroups', on: [object], returns: strings },
  { name: 'checkMemberObjects', on: [object], returns: strings },
  { name: 'explainMembership', on: [object], returns: `Collection(${object})` },
  { name: 'getByIds', on: [`Collection(${object})`], returns: `Collection(${object})` },
  {
    name: 'getAvailableExtensionProperties',
    on: [`Collection(${object})`],
    returns: `Collection(${namespace}.extensionProperty)`,
  },
  { name: 'restore', on: [object], returns: object },
  { name: 'addPassword', on: [`${namespace}.application`], returns: `${namespace}.passwordCredential` },
  { name: 'removePassword', on: [`${namespace}.application`] },
  { name: 'changePassword', on: [`${namespace}.user`] },
  { name: 'invite', on: [`${namespace}.user`], returns: `${namespace}.invitation` },
  { name: 'revokeSignInSessions', on: [`${namespace}.user`], returns: 'Edm.Boolean' },
  { name: 'reply', on: [`${namespace}.thread`, `${namespace}.post`] },
  {
    name: 'carriedRights',
    on: ['group', 'user', 'servicePrincipal'].map((kind) => `${namespace}.${kind}`),
    isFunction: true,
    returns: `Collection(${namespace}.carriedRight)`,
  },
]

const deltas = ['user', 'group', 'servicePrincipal', 'device', 'application'].map(
  (kind): Bound => ({
    name: 'delta',
    on: [`Collection(${namespace}.${kind})`],
    isFunction: true,
    returns: `Collection(${namespace}.${kind})`,
  }),
)

/** Actions and functions with the parameters that their operations take. */
export function describeBound(operations: readonly Operation<never>[]): Element[] {
  const described = [...bound, ...deltas].map((one) => describeOne(one, operations))
  return described.flatMap(({ elements }) => elements)
}

function describeOne(one: Bound, operations: readonly Operation<never>[]): { elements: Element[] } {
  const { name, on, isFunction, returns } = one
  const operation = operations.find(({ paths }) => paths.some((path) => path.endsWith(`/${name}`)))
  const { properties = {}, required = [] } = (operation?.body ?? {}) as {
    properties?: Record<string, TSchema>
    required?: readonly string[]
  }
  const complexTypes: Element[] = []
  const parameters = Object.entries(properties).map(([parameter, schema]) =>
    element('Parameter', {
      Name: parameter,
      Type: typeOfSchema(`${name}_${parameter}`, schema, complexTypes),
      ...(required.includes(parameter) && { Nullable: 'false' }),
    }),
  )
  const elements = on.map((type) =>
    element(isFunction ? 'Function' : 'Action', { Name: name, IsBound: 'true' }, [
      element('Parameter', { Name: 'bindingParameter', Type: type, Nullable: 'false' }),
      ...parameters,
      ...(returns ? [element('ReturnType', { Type: returns, Nullable: 'false' })] : []),
    ]),
  )
  return { elements: [...complexTypes, ...elements] }
}

/** Complex types that operations return. */
export function describeReturned(operations: readonly Operation<never>[]): Element[] {
  const answerOf = (name: string) => operations.find((one) => one.name === name)?.answers[200] as TSchema
  const list = answerOf('listCarriedRightsOfUser') as TSchema & { properties: { value: { items: TSchema } } }
  return [
    ...describeSchema('ComplexType', 'passwordCredential', answerOf('addPassword')),
    ...describeSchema('ComplexType', 'invitation', answerOf('inviteUser')),
    ...describeSchema('ComplexType', 'carriedRight', list.properties.value.items),
  ]
}
