import assert from 'node:assert/strict'
import { after, before, describe } from 'node:test'
import pg from 'pg'
import { Problem } from '../../src/kernel/problem.ts'
import { takeTurn } from '../../src/masks/turn.ts'
import { clause } from '../support/clause.ts'
import { createMaskedDatabase, policy, rule } from '../support/masked-database.ts'
import { forUsualCluster } from '../support/postgres.ts'
import { retryUntil } from '../support/wait-until.ts'

const canary = 'zqcanary'

forUsualCluster((cluster) => {
  describe('readers while masks change', () => {
    let target: Awaited<ReturnType<typeof createMaskedDatabase>>
    let [auditor, other]: string[] = []
    before(async () => {
      target = await createMaskedDatabase(cluster)
      const analyst = await target.createRole('analyst')
      auditor = await target.createRole('auditor')
      other = await target.createRole('other')
      await target.database.sql.unsafe(`
        create table public.t (id int primary key, name text, mail text, pay int);
        insert into public.t select n, 'n' || n, '${canary}' || n, 770000 + n from generate_series(1, 50) n;
        create view public.v as select id, mail from public.t;
        create table public.u (id int, word text); insert into public.u values (1, 'plain');
        grant usage on schema public to public;
        grant select, update on public.t, public.v, public.u to "${analyst}";
        grant select on public.t, public.v, public.u to "${auditor}", "${other}"`)
    })
    after(() => target[Symbol.asyncDispose]())

    /** Columns that are masked in every one of these states; `u` comes and goes. */
    const always = [rule('public.t.mail', 'Email'), rule('public.t.pay')]
    const states = () => [
      policy(always, [auditor ?? '']),
      policy(
        [rule('public.t.mail'), rule('public.t.pay', 'Number', { numberFrom: '1', numberTo: '9' })],
        [auditor ?? ''],
      ),
      policy([...always, rule('public.u.word')], [auditor ?? '', other ?? '']),
      policy([...always, rule('public.t.name', 'Text', { prefixSize: '1' })], []),
      { ...policy(always, [other ?? '']), suspended: [{ schema: 'public', table: 't' }] },
    ]

    class Unfinished extends Error {}
    const reconcilePatiently = (state: ReturnType<typeof states>[number]) =>
      retryUntil(
        async () => {
          const { unfinished } = await takeTurn(target.database, state)
          if (unfinished.length > 0) throw new Unfinished(unfinished[0]?.reason)
        },
        (error) => error instanceof Problem || error instanceof Unfinished,
      )

    const statements = [
      'select mail from masked_public.t',
      'select mail, pay from public.t',
      'select * from masked_public.v',
      'select * from public.v',
      'select id, name from public.t where id = 7',
      `select id from masked_public.t where mail like '${canary}%'`,
      'copy (select * from masked_public.t) to stdout',
      "update public.t set name = 'x' where id = 3 returning mail",
    ]

    clause('ENF-09', 'While rules, exemptions and suspensions change under readers, a…', async () => {
      await takeTurn(target.database, states()[0] ?? policy(always))
      let isOver = false
      const codes = new Map<string, number>()
      const raw: string[] = []
      let reads = 0
      const hammer = async (offset: number) => {
        const url = new URL(target.url)
        url.username = target.role('analyst')
        url.password = 'secret'
        const client = new pg.Client({ connectionString: url.href })
        await client.connect()
        Reflect.get(client, 'connection').on('copyData', ({ chunk }: { chunk: Buffer }) => {
          if (chunk.includes(canary)) raw.push(`copied: ${chunk}`)
        })
        for (let at = offset; !isOver; at++) {
          const text = statements[at % statements.length] ?? ''
          const named =
            at % 2 === 0 && !text.startsWith('copy') ? { name: `s${at % statements.length}`, text } : text
          await client.query(named).then(
            ({ rows }) => {
              reads++
              const shown = JSON.stringify(rows)
              if (shown.includes(canary) || /\b7700\d\d\b/.test(shown))
                raw.push(`${text}: ${shown.slice(0, 200)}`)
              if (text.includes('like') && rows.length > 0) raw.push(text)
            },
            (error: pg.DatabaseError) => {
              codes.set(error.code ?? '', (codes.get(error.code ?? '') ?? 0) + 1)
              if (`${error.message}${error.detail}`.includes(canary)) raw.push(error.message)
            },
          )
        }
        await client.end()
      }
      const hammers = [0, 3].map(hammer)
      for (let round = 0; round < 3 || reads <= 50; round++)
        for (const state of states()) await reconcilePatiently(state)
      isOver = true
      await Promise.all(hammers)
      assert.deepEqual(raw, [])
      // Denied, or the twin of a suspended table is not there; clients make a plan anew that outlived its table.
      for (const code of codes.keys())
        assert.match(code, /^(42501|42P01|0A000|40P01)$/, `${code}: ${codes.get(code)} times`)
    })

    clause(
      'ENF-63',
      'Nodes that take turns at the same time agree, also when one is the first to come or the last to leave.',
      async () => {
        const [first] = states()
        for (let round = 0; round < 3; round++) {
          await Promise.all([1, 2, 3].map(() => takeTurn(target.database, first ?? policy([]))))
          assert.deepEqual((await takeTurn(target.database, first ?? policy([]))).steps, [])
          await Promise.all([1, 2].map(() => takeTurn(target.database, policy([]))))
          assert.deepEqual((await takeTurn(target.database, policy([]))).steps, [])
        }
      },
    )
  })
})
