import type { Logger } from 'pino'
import { judgeRoles } from './containment/judge-roles.ts'
import type { Look } from './contracts/inspection.ts'
import type { Verdict } from './contracts/verdict.ts'
import type { Database } from './db/database.ts'
import { readConsistently } from './db/read-consistently.ts'
import type { Sql } from './db/sql.ts'
import { createInspector } from './findings/inspection/inspector.ts'
import { readMaskFacts } from './findings/inspection/read-mask-facts.ts'
import { CoalescedJobs } from './kernel/jobs.ts'
import { keepContained } from './masking/enforcement/contained-counts.ts'
import type { Controller } from './masks/control/controller.ts'
import type { Source } from './masks/control/source.ts'
import { isTwinOwnerName } from './masks/names.ts'
import type { Proposal } from './masks/policy.ts'

/** Looks after turns take a two-hundredth of the time at most. */
const pause = 200
/** Changes come one after the other: containment is looked at once these are made. */
const gatherMs = 1_500

interface Parts {
  readonly store: Sql
  readonly source: Source
  readonly enforcement: Controller
  readonly log: Logger
}

/** Looks into bound databases for people and for the controller, with the verdicts of containment among them. */
export function openInspection({ store, source, enforcement, log }: Parts) {
  const inspector = createInspector({
    connect: (id) => enforcement.connect(id),
    readPolicy: (...which) => enforcement.readPolicy(...which),
    plan: (id) => enforcement.plan(id),
    claimantOf: (id) => source.claimantOf(id),
  })
  const judge = async (id: string, bound: Database, proposed?: Proposal): Promise<Verdict[]> => {
    const found = await readConsistently(bound, async (tx) => {
      const policy = await enforcement.readPolicy(id, proposed, tx)
      return judgeRoles(tx, await readMaskFacts(tx, id, policy, proposed === undefined))
    })
    // Owners of twins of other databases, which have no rights here.
    const verdicts = found.filter((one) => one.canLogIn || !one.contained || !isTwinOwnerName(one.role))
    if (!proposed) await keepContained(store, id, verdicts)
    return verdicts
  }
  const dueAt = new Map<string, number>()
  const jobs = new CoalescedJobs(gatherMs, (databaseId, err) =>
    log.warn({ databaseId, err }, 'containment could not be looked at'),
  )
  return {
    inspection: {
      ...inspector,
      findVerdicts: (into: Look, proposed?: Proposal): Promise<Verdict[]> =>
        inspector.look(into, (bound) => judge(into.databaseId, bound, proposed)),
    },
    looks: {
      /** After a turn of the controller: keeps the count of roles that are not contained. */
      request(databaseId: string, hasChanged: boolean): void {
        if (!hasChanged && Date.now() < (dueAt.get(databaseId) ?? 0)) return
        jobs.request(databaseId, async () => {
          const from = Date.now()
          await inspector.look({ databaseId, admit: async () => {} }, (bound) => judge(databaseId, bound))
          dueAt.set(databaseId, Date.now() + pause * (Date.now() - from))
        })
      },
      close: () => jobs.close(),
    },
  }
}
