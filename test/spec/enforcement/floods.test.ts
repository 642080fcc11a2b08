import assert from 'node:assert/strict'
import { takeTurn } from '../../../src/masks/turn.ts'
import { clause } from '../../support/clause.ts'
import { createMaskedDatabase, policy, rule } from '../../support/masked-database.ts'
import { forEachCluster } from '../../support/postgres.ts'
import { promised } from '../../support/wait-until.ts'

const columns = Array.from({ length: 1600 }, (_, at) => `c${at}`)
const wide = `as select ${columns.map((column) => `id as ${column}`).join()} from app.person`
const grant = (name: string) => `grant select (${columns.join()}) on lair.${name} to $others`
/** Different numbers, as PostgreSQL compresses what repeats, more of it from version to version. */
const numbers = Array.from({ length: 5000 }, (_, at) => (at * 7919) % 100_003)
const large = `as select ${['length(mail)', ...numbers].join(' + ')} as sum from app.person`

/** More than there is time and memory for, by mallory or by the owner of the tables. */
const floods: readonly { readonly by: 'mallory' | 'owner'; readonly create: string }[] = [
  {
    by: 'mallory',
    create: `create view lair.one ${wide}; ${grant('one')};
      create materialized view lair.two ${wide} with no data; ${grant('two')}`,
  },
  { by: 'mallory', create: `create materialized view lair.wide ${wide}; ${grant('wide')}` },
  {
    by: 'mallory',
    create: `create materialized view lair.filled as select id from app.person; create view lair.wide ${wide}; ${grant('wide')}`,
  },
  {
    by: 'owner',
    create: Array.from({ length: 25 }, (_, at) => `create view lair.large${at} ${large}`).join('; '),
  },
]

forEachCluster((cluster) => {
  clause(
    'ENF-236',
    'However many, wide or long the views and materialized views of a masked role are, and…',
    async () => {
      await using target = await createMaskedDatabase(cluster)
      const run = (text: string) => target.database.sql.unsafe(text)
      const [clerk, mallory] = [await target.createRole('clerk'), await target.createRole('mallory')]
      const owner = await target.createRole('owner')
      const binder = await target.createRole('binder', 'LOGIN CREATEROLE')
      const others: string[] = []
      for (let at = 0; at < 60; at++) others.push(`"${await target.createRole(`other${at}`, 'NOLOGIN')}"`)
      // The binding acts for the owner of the tables, and not for the masked role.
      await run(`create schema app; grant usage on schema app to public; grant create on schema app to "${owner}";
        create table app.person (id int primary key, mail text, note text); insert into app.person values (1, 'raw', 'raw');
        grant select on app.person to "${clerk}"; grant select (id) on app.person to "${mallory}";
        alter table app.person owner to "${owner}"; grant "${owner}" to "${binder}";
        grant create on database "${target.url.replace(/^.*\//, '')}" to "${binder}"`)
      const bindings = [target.database, target.connectAs('binder')]
      for (const [at, { by, create }] of floods.entries()) {
        const binding = bindings[at % 2] ?? target.database
        await takeTurn(binding, policy([rule('app.person.mail')], [clerk]))
        await run(`create schema lair authorization "${by === 'owner' ? owner : mallory}"`)
        await target.runAs(by, create.replaceAll('$others', others.join()))
        const from = Date.now()
        await takeTurn(binding, policy([rule('app.person.mail'), rule('app.person.note')]))
        assert.ok(Date.now() - from < promised(10_000), `${create.slice(0, 100)}: ${Date.now() - from} ms`)
        for (const column of ['mail', 'note'])
          await assert.rejects(target.runAs('clerk', `select ${column} from app.person`), /permission denied/)
        await run('drop schema lair cascade')
        await takeTurn(binding, policy([]))
      }
    },
  )
})
