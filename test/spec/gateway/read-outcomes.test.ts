import assert from 'node:assert/strict'
import { describe } from 'node:test'
import pg from 'pg'
import { to as copyTo } from 'pg-copy-streams'
import { message, query } from '../../../src/wire/messages.ts'
import { connectWire } from '../../support/byte-client.ts'
import { clause } from '../../support/clause.ts'
import { forEachCluster } from '../../support/postgres.ts'
import { email, useWatchedDatabase, value } from '../../support/watched-database.ts'

const parse = (text: string, name = '') => message('P', `${name}\0${text}\0`, Buffer.alloc(2))
const bind = (name = '', portal = '') => message('B', `${portal}\0${name}\0`, Buffer.alloc(6))
const execute = (portal = '') => message('E', `${portal}\0`, Buffer.alloc(4))
const describePortal = message('D', 'P\0')
const sync = message('S')
const reads = 'select email from public.people where id = 1'
/** The first row is sent at once. */
const slowRows = `select (${reads}), repeat('x', 20000), pg_sleep(9 * (i - 1)) from generate_series(1, 2) i`
const returns = 'update public.people set name = name where id = 1 returning email'

forEachCluster((cluster) => {
  describe('what became of reads', () => {
    const database = useWatchedDatabase(cluster, ['auditor', 'analyst', 'helper'], async (all) => {
      await database.run(`create table public.people (id int primary key, name text, email text);
        insert into public.people values (1, 'Ann', '${value}'), (2, 'Bob', 'bob@example.com');
        create function public.raises(text) returns text language plpgsql as
          $$ begin raise '%', $1 using errcode = 'insufficient_privilege'; end $$;
        create function public.notes(text) returns int language plpgsql as
          $$ begin raise notice '%', $1; return 1; end $$;
        grant usage on schema public to ${all}; grant create on schema public to ${database.role('analyst')};
        grant select, update on public.people to ${database.role('auditor')}, ${database.role('analyst')}`)
      await database.mask([email], ['auditor'])
    })

    /** How often each outcome was recorded. */
    const count = (touches: Awaited<ReturnType<ReturnType<typeof database.gateway>['watch']>>) => {
      const sums: Record<string, number> = {}
      for (const { count, ...columns } of touches)
        for (const how of ['raw', 'masked', 'denied', 'written'] as const)
          if (columns[how].length > 0) {
            assert.deepEqual(columns[how], [email])
            sums[how] = (sums[how] ?? 0) + count
          }
      return sums
    }
    const outcomes = async (name: string, run: (client: pg.Client) => Promise<unknown>) =>
      count(
        await database.gateway().watch(async () => {
          const client = new pg.Client(database.gateway().configOf(name))
          client.on('error', () => {})
          await client.connect()
          await run(client)
          await client.end()
        }),
      )
    /** The same of messages that are sent at once. */
    const wireOutcomes = async (name: string, types: string, ...frames: Buffer[]) =>
      count(
        await database.gateway().watch(async () => {
          const client = await connectWire(database.gateway().configOf(name))
          client.write(...frames)
          const answer = await client.read(types.split('Z').length - 1)
          assert.equal(answer.types, types, answer.error?.get('M'))
          await client.close()
        }),
      )
    const fails = (client: pg.Client, code: string, text: string, values?: unknown[]) =>
      assert.rejects(client.query(text, values), { code }, text)

    const outcomeQuote = 'A read is recorded once its statement has succeeded or was denied…'
    clause('GATE-380', outcomeQuote, async () => {
      assert.deepEqual(await outcomes('auditor', (client) => client.query(reads)), { raw: 1 })
      assert.deepEqual(await outcomes('analyst', (client) => client.query(reads)), { masked: 1 })
      const denied = [
        reads,
        `explain ${reads}`,
        `declare c cursor with hold for ${reads}`,
        `copy (${reads}) to stdout`,
      ]
      for (const text of [...denied, 'copy public.people to stdout', returns])
        assert.deepEqual(
          await outcomes('helper', (client) => fails(client, '42501', text)),
          { denied: 1 },
          text,
        )
      // By messages PostgreSQL denies a SELECT when it binds, and a write when it runs.
      for (const text of [reads, returns])
        assert.deepEqual(
          await outcomes('helper', (client) =>
            fails(client, '42501', `${text} -- $1`.replace('id = 1', 'id = $1'), [1]),
          ),
          { denied: 1 },
          text,
        )
      assert.deepEqual(await outcomes('analyst', (client) => fails(client, '42501', `${reads} for update`)), {
        denied: 1,
      })
      // The gateway itself denies this one.
      const copies = `create table public.copies as ${reads}`
      assert.deepEqual(await outcomes('analyst', (client) => fails(client, '42501', copies)), { denied: 1 })
    })

    clause('GATE-380', outcomeQuote, async () => {
      const found = await outcomes('auditor', async (client) => {
        await client.query(`begin; declare c cursor for ${reads}; fetch all from c; commit`)
        for await (const _ of client.query(copyTo(`copy (${reads}) to stdout`)));
        await client.query(`explain analyze ${reads}`)
        await client.query(returns)
      })
      assert.deepEqual(found, { raw: 4 })
      const several = await outcomes('analyst', (client) =>
        fails(client, '42501', `${reads}; ${returns}; ${reads}`),
      )
      assert.deepEqual(several, { masked: 1, denied: 1 })
      const run = [bind(), describePortal, execute()]
      const pipelined = [parse(reads), ...run, parse(returns), ...run, parse(reads), ...run, sync]
      assert.deepEqual(await wireOutcomes('analyst', '12TDC12TEZ', ...pipelined), { masked: 1, denied: 1 })
      const portals = [parse(reads, 'a'), bind('a', 'p'), bind('a', 'q'), execute('p'), execute('q'), sync]
      assert.deepEqual(await wireOutcomes('auditor', '122DCDCZ', ...portals), { raw: 2 })
    })

    // While a statement runs, its first row tells.
    clause('GATE-380', outcomeQuote, async () => {
      const touches = await database.gateway().watch(async () => {
        const client = await connectWire(database.gateway().configOf('auditor'))
        client.write(query(slowRows))
        while ((await client.reader.takeFrame(1 << 20))[0] !== 0x44);
        await client.close()
      })
      assert.deepEqual(count(touches), { raw: 1 })
    })

    const failureQuote = 'A statement that fails otherwise counts as a read where values may have reached…'
    clause('GATE-381', failureQuote, async () => {
      const none = async (code: string, ...texts: string[]) => {
        for (const name of ['auditor', 'analyst']) {
          const found = await outcomes(name, async (client) => {
            for (const text of texts.slice(0, -1)) await client.query(text)
            await fails(client, code, texts.at(-1) ?? '')
          })
          assert.deepEqual(found, {}, `${name} ${texts}`)
        }
      }
      await none('42703', `select nothere, email from public.people`)
      await none('42601', `${reads} select`)
      await none('22012', `select 1 / 0; ${reads}`)
      await none('57014', "set statement_timeout = '50ms'", `select email, pg_sleep(9) from public.people`)
      await none('25006', 'begin read only', returns.replace('returning email', "and email <> '' "))
      const aborted = await outcomes('auditor', async (client) => {
        await client.query('begin')
        await fails(client, '22012', 'select 1 / 0')
        await fails(client, '25P02', reads)
        await client.query('rollback')
        await fails(client, '22P02', reads.replace('1', '$1'), ['x'])
      })
      assert.deepEqual(aborted, {})
    })

    clause('GATE-381', failureQuote, async () => {
      const shows = async (code: string, text: string, ...before: string[]) => {
        const found = await outcomes('auditor', async (client) => {
          for (const each of before) await client.query(each)
          await fails(client, code, text)
          await fails(client, code, `${text} limit $1`, [9])
        })
        assert.deepEqual(found, { raw: 2 }, text)
      }
      await shows('22P02', 'select email::int from public.people')
      await shows('42601', `select to_tsquery(email || ' (') from public.people`)
      await shows('42P01', `select split_part(email, '@', 1)::regclass from public.people`)
      await shows('42501', 'select public.raises(email) from public.people')
      const timeout = "set statement_timeout = '300ms'"
      await shows('57014', 'select pg_sleep(public.notes(email) * 9) from public.people', timeout)
      await shows('57014', slowRows, timeout)
    })

    const skipQuote = 'A statement that PostgreSQL skips behind an error is no read, and a prepared…'
    clause('GATE-382', skipQuote, async () => {
      const prepared = await outcomes('auditor', async (client) => {
        await client.query(`prepare p as ${reads}`)
        for (let run = 0; run < 2; run++) await client.query('execute p')
        for (let run = 0; run < 3; run++) await client.query({ name: 'n', text: reads })
      })
      assert.deepEqual(prepared, { raw: 5 })
      assert.deepEqual(await outcomes('auditor', (client) => client.query(`prepare p as ${reads}`)), {})
      const described = [parse(reads, 'a'), message('D', 'Sa\0'), sync]
      assert.deepEqual(await wireOutcomes('auditor', '1tTZ', ...described), {})
      const skipped = [parse('select 1 / 0'), bind(), execute(), parse(reads), bind(), execute(), sync]
      assert.deepEqual(await wireOutcomes('auditor', '1EZ', ...skipped), {})
      // It cannot be told whether the error skips the query: this one ran.
      const mixed = [bind('nope'), query(reads), sync]
      assert.deepEqual(await wireOutcomes('auditor', 'EZ', ...mixed), { raw: 1 })
    })
  })
})
