import { Type } from 'typebox'
import { ok } from '../../api/operation.ts'
import { operation, resourcesApiVersions } from '../operation.ts'

const tenantAnswer = Type.Object({
  id: Type.String(),
  tenantId: Type.String(),
  tenantCategory: Type.Literal('Home'),
  tenantType: Type.Literal('AAD'),
})

/** Names and domains of the tenant stand in its organization, which takes a permission of the directory to read. */
export const listTenants = operation({
  name: 'listTenants',
  clause: 'MASK-182',
  summary: 'List the tenants of the caller: the one of this service',
  method: 'GET',
  path: '/tenants',
  apiVersions: resourcesApiVersions,
  permission: { anyCaller: 'Answers with the tenant that the token names.' },
  answers: { 200: Type.Object({ value: Type.Array(tenantAnswer) }) },

  run: async ({ caller: { tenantId } }) =>
    ok({ value: [{ id: `/tenants/${tenantId}`, tenantId, tenantCategory: 'Home', tenantType: 'AAD' }] }),
})
