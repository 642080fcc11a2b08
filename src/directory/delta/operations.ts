import { application } from '../objects/kinds/application.ts'
import { device } from '../objects/kinds/device.ts'
import { group } from '../objects/kinds/group.ts'
import { servicePrincipal } from '../objects/kinds/service-principal.ts'
import { user } from '../objects/kinds/user.ts'
import { readDelta } from './read-delta.ts'

export const deltaOperations = [user, group, servicePrincipal, device, application].map(readDelta)
