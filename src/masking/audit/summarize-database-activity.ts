import { Type } from 'typebox'
import { ok } from '../../api/operation.ts'
import { countActions } from '../../db/count-audits.ts'
import { apiVersions, operation } from '../operation.ts'
import { keyRange } from '../page.ts'
import { databasePath, fold, readDatabasePlace, scopeOf } from '../place.ts'
import { dateTime } from '../schemas.ts'
import { type AuditKind, kindOf } from './audit-kinds.ts'
import { fromOption, listDays } from './list-days.ts'
import { notBefore, readAudit } from './not-before.ts'

const dayAnswer = Type.Object({
  start: dateTime,
  touch: Type.Integer({ description: 'Entries about statements that touched masked columns' }),
  preview: Type.Integer({ description: 'Previews of tables' }),
  session: Type.Integer({ description: 'Logins, ends and refusals at the gateway' }),
  change: Type.Integer({ description: 'All other entries' }),
})

export const summarizeDatabaseActivity = operation({
  name: 'summarizeDatabaseActivity',
  clause: 'MASK-228',
  summary: 'Count the audit events of a database on each of the last days, by kind',
  method: 'GET',
  path: `${databasePath}/activitySummary`,
  apiVersions,
  permission: { action: readAudit, scope: scopeOf },
  query: Type.Object({ from: fromOption }),
  answers: {
    200: Type.Object({ days: Type.Array(dayAnswer) }, { title: 'databaseActivitySummary' }),
  },

  async run({ params, query, caller, tx, ports }) {
    const scope = fold(scopeOf({ ...readDatabasePlace(params) }))
    const starts = listDays(query.from)
    const [first = ''] = starts
    const counted = await countActions(tx, caller.tenantId, {
      target: { is: scope, ...keyRange(scope) },
      start: first,
      from: (await notBefore(first, { params, caller, tx, ports })) ?? first,
    })
    const days = starts.map((start): { start: string } & Record<AuditKind, number> => ({
      start,
      touch: 0,
      preview: 0,
      session: 0,
      change: 0,
    }))
    for (const { day, action, count } of counted) {
      const counts = days[day]
      if (counts) counts[kindOf(action)] += count
    }
    return ok({ days })
  },
})
