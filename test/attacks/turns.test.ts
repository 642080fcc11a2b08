import assert from 'node:assert/strict'
import { after, describe } from 'node:test'
import { clause } from '../support/clause.ts'
import { forUsualCluster } from '../support/postgres.ts'
import type { ClauseId } from './attack.ts'
import * as access from './cases/access.ts'
import * as code from './cases/code.ts'
import * as locks from './cases/locks.ts'
import * as names from './cases/names.ts'
import * as owners from './cases/owners.ts'
import * as policies from './cases/policies.ts'
import * as sessions from './cases/sessions.ts'
import * as twins from './cases/twins.ts'
import * as views from './cases/views.ts'
import { TurnStage } from './turn-runner.ts'

const all = [access, code, locks, names, owners, policies, sessions, twins, views].flatMap((cases) =>
  Object.values(cases).flat(),
)

forUsualCluster((cluster) => {
  describe('roles that prepare for a turn', () => {
    const stages = [new TurnStage(cluster, true), new TurnStage(cluster, false)]
    after(async () => {
      for (const stage of stages) await stage[Symbol.asyncDispose]()
    })
    /** With a superuser's binding, and with one that is a member of the owners: `npm test` takes them in turn. */
    const play = (id: ClauseId) => async () => {
      const cases = all.filter(({ clauses }) => clauses.includes(id))
      assert.ok(cases.length > 0)
      const played = stages.map(async (stage, at) => {
        const wrong: string[] = []
        for (const [index, each] of cases.entries())
          if (process.env.MASQUERADE_TEST_ALL || index % 2 === at) wrong.push(...(await stage.play(each)))
        return wrong
      })
      assert.deepEqual((await Promise.all(played)).flat(), [])
    }
    clause('ENF-350', 'A twin uses only what its relation does, beside twins, types of …', play('ENF-350'))
    clause('ENF-158', 'Masking runs no cast, and no input of a type, that a role made: …', play('ENF-158'))
    clause('ENF-219', 'A literal of a type that a role made, or of no type, runs no code …', play('ENF-219'))
    clause('ENF-230', 'A row policy of a masked table runs through the twin with no right …', play('ENF-230'))
    clause(
      'ENF-341',
      'A table whose row policies read a table of another owner, themselves …',
      play('ENF-341'),
    )
    clause('ENF-51', 'A new owner of a masked table changes nothing for other roles. …', play('ENF-51'))
    clause(
      'ENF-530',
      'USAGE on a shadow schema goes to the roles that have it on its schema, …',
      play('ENF-530'),
    )
    clause('ENF-47', 'A role gains no privileges by creating, ahead of the controller, …', play('ENF-47'))
    clause('ENF-220', 'A binding that is a member of the owner of a table revokes grants …', play('ENF-220'))
    clause('ENF-295', 'A grant of a column that a role passed on by a grant option …', play('ENF-295'))
    clause('ENF-64', 'A session that holds a lock on a twin keeps no column from being …', play('ENF-64'))
    clause('ENF-559', 'The twin of a view that chooses rows, or values of open columns, …', play('ENF-559'))
    clause(
      'ENF-573',
      'The same holds of the twins of materialized views, of views over a table …',
      play('ENF-573'),
    )
    clause('ENF-560', 'A table whose row policies read a table with policies for certain …', play('ENF-560'))
    clause('ENF-67', 'Each relation is planned by itself, under limits of bytes, …', play('ENF-67'))
    clause('ENF-146', 'A snapshot that was exported before a rule, or before an exemption …', play('ENF-146'))
    clause('ENF-147', 'Temporary objects, schemas and search paths of a masked role …', play('ENF-147'))
    clause('ENF-149', 'A transaction that was prepared before a rule and is committed …', play('ENF-149'))
    clause('ENF-50', 'Masked roles lose TRIGGER, REFERENCES and, since PostgreSQL 17, …', play('ENF-50'))
    clause('ENF-61', 'Two turns in a row leave nothing to do for the second.', play('ENF-61'))
    clause('ENF-68', 'A schema, type or view that is closed to the binding, or that …', play('ENF-68'))
    clause('ENF-69', 'A lock on one relation holds up no other: what can be closed is …', play('ENF-69'))
    clause('ENF-70', 'A new rule for a table that is locked leaves its twin closed, …', play('ENF-70'))
    clause('ENF-140', 'A role that creates, ahead of the controller, the schema of its …', play('ENF-140'))
    clause('ENF-142', 'A lock on a relation while the last rule is deleted loses no …', play('ENF-142'))
    clause('ENF-197', 'EXPLAIN tells a masked role of the statistics of a masked …', play('ENF-197'))
    clause('ENF-310', 'No two relations share a twin: each schema has a shadow schema …', play('ENF-310'))
    clause('ENF-311', 'A schema that was renamed keeps its shadow schema. A new schema …', play('ENF-311'))
    clause('ENF-312', 'A twin whose rule, owner or names of columns were changed by …', play('ENF-312'))
    clause('ENF-360', 'A turn that looks at the whole database makes a twin again …', play('ENF-360'))
  })
})
