import { Type } from 'typebox'
import { ok } from '../../api/operation.ts'
import { countAuditEvents, countTouchesByActor } from '../../db/audit.ts'
import { apiVersions, operation } from '../operation.ts'
import { scopeOf } from '../place.ts'
import { dateTime } from '../schemas.ts'
import { readTime } from './read-time.ts'

const dayMs = 24 * 60 * 60 * 1000
const defaultDays = 30
const mostDays = 92
const shownActors = 5

const activityDay = Type.Object({
  start: dateTime,
  touches: Type.Integer({ description: 'Entries about statements that touched masked columns' }),
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
  permission: { action: 'Vendor.Sql/auditEvents/read', scope: scopeOf },
  query: Type.Object({
    from: Type.Optional(
      Type.String({ description: 'The start of the first day; 30 days ago where it is left out.' }),
    ),
  }),
  answers: {
    200: Type.Object(
      {
        days: Type.Array(activityDay),
        touchedBy: Type.Array(Type.Object({ objectId: Type.String(), touches: Type.Integer() })),
        openSessions: Type.Integer(),
      },
      { title: 'activitySummary' },
    ),
  },

  async run({ query, caller: { tenantId }, tx, ports }) {
    const now = Date.now()
    const asked = Date.parse(
      readTime('from', query.from) ?? new Date(now - defaultDays * dayMs).toISOString(),
    )
    const from = Math.max(asked, now - mostDays * dayMs)
    const start = new Date(from).toISOString()
    const counted = new Map((await countAuditEvents(tx, tenantId, start)).map((day) => [day.day, day]))
    const days = Array.from({ length: Math.max(1, Math.ceil((now - from) / dayMs)) }, (_, at) => {
      const { day: _day, ...counts } = counted.get(at) ?? { ...nothing, day: at }
      return { start: new Date(from + at * dayMs).toISOString(), ...counts }
    })
    const touchedBy = await countTouchesByActor(tx, tenantId, start, shownActors)
    const nodes = await ports.listNodes(tx)
    const openSessions = nodes.reduce((sum, { gatewaySessions }) => sum + gatewaySessions, 0)
    return ok({ days, touchedBy, openSessions })
  },
})

const nothing = { touches: 0, logins: 0, changes: 0, rulesAdded: 0, rulesRemoved: 0 }
