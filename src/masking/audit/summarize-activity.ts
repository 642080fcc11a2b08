import { Type } from 'typebox'
import { ok } from '../../api/operation.ts'
import { countAuditEvents, countReadsByActor, countReadsByDay } from '../../db/count-audits.ts'
import { apiVersions, operation } from '../operation.ts'
import { scopeOf } from '../place.ts'
import { dateTime } from '../schemas.ts'
import { fromOption, listDays } from './list-days.ts'
import { readAudit } from './not-before.ts'

const shownActors = 5

const reads = Type.Object({
  raw: Type.Integer({ description: 'Read as they are' }),
  masked: Type.Integer({ description: 'Read through masks' }),
  denied: Type.Integer({ description: 'Denied' }),
})

const activityDay = Type.Object({
  start: dateTime,
  touches: Type.Integer({ description: 'Entries about statements that touched masked columns' }),
  reads,
  logins: Type.Integer({ description: 'Logins at the gateway' }),
  changes: Type.Integer(),
  rulesAdded: Type.Integer(),
  rulesRemoved: Type.Integer(),
})

export const summarizeActivity = operation({
  name: 'summarizeActivity',
  clause: 'MASK-210',
  summary: 'Count what happened on each of the last days, and the sessions that are open now',
  method: 'GET',
  path: '/providers/Vendor.Sql/activitySummary',
  apiVersions,
  permission: { action: readAudit, scope: scopeOf },
  query: Type.Object({ from: fromOption }),
  answers: {
    200: Type.Object(
      {
        days: Type.Array(activityDay),
        touchedBy: Type.Array(Type.Object({ objectId: Type.String(), touches: Type.Integer(), reads })),
        openSessions: Type.Integer(),
      },
      { title: 'activitySummary' },
    ),
  },

  async run({ query, caller: { tenantId }, tx, ports }) {
    const starts = listDays(query.from)
    const [first = ''] = starts
    const counted = new Map((await countAuditEvents(tx, tenantId, first)).map((day) => [day.day, day]))
    const read = new Map((await countReadsByDay(tx, tenantId, first)).map(({ day, reads }) => [day, reads]))
    const days = starts.map((start, at) => {
      const { day: _day, ...counts } = counted.get(at) ?? { ...nothing, day: at }
      return { start, ...counts, reads: read.get(at) ?? noReads }
    })
    const touchedBy = await countReadsByActor(tx, tenantId, first, shownActors)
    const nodes = await ports.listNodes(tx)
    const openSessions = nodes.reduce((sum, { gatewaySessions }) => sum + gatewaySessions, 0)
    return ok({ days, touchedBy, openSessions })
  },
})

const noReads = { raw: 0, masked: 0, denied: 0 }
const nothing = { touches: 0, logins: 0, changes: 0, rulesAdded: 0, rulesRemoved: 0 }
