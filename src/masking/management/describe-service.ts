import { ok } from '../../api/operation.ts'
import { apiVersions, operation } from '../operation.ts'
import { scopeOf } from '../place.ts'
import { serviceDescription } from './service-description.ts'

export const describeService = operation({
  name: 'describeService',
  clause: 'SVC-40',
  summary: 'Describe the node that answers: version, database, signing keys, certificate and settings',
  method: 'GET',
  path: '/providers/Vendor.Sql/service',
  apiVersions,
  permission: { action: 'Vendor.Sql/service/read', scope: scopeOf },
  answers: { 200: serviceDescription },
  run: async ({ ports, tx }) => ok(await ports.describeService(tx)),
})
