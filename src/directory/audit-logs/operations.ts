import { readOperationsOn } from '../entities/read-only-set.ts'
import { directoryAudits } from './directory-audits.ts'
import { signIns } from './sign-ins.ts'

export const auditLogOperations = [...readOperationsOn(directoryAudits), ...readOperationsOn(signIns)]
