import assert from 'node:assert/strict'
import { after, before, describe } from 'node:test'
import pg from 'pg'
import type { CountedTouch } from '../../../src/gateway/audit/touch.ts'
import { readMaskVersion } from '../../../src/masks/read/mask-version.ts'
import { takeTurn } from '../../../src/masks/turn.ts'
import { message, query } from '../../../src/wire/messages.ts'
import { connectWire } from '../../support/byte-client.ts'
import { clause } from '../../support/clause.ts'
import { majorOf } from '../../support/cluster.ts'
import { createMaskedDatabase, policy, rule } from '../../support/masked-database.ts'
import { forEachCluster } from '../../support/postgres.ts'
import { waitUntil } from '../../support/wait-until.ts'
import { createPeople, openWatchedGateway } from '../../support/watched-gateway.ts'

const reads = 'select email from people'
const raw = 'raw@example.com'
/** As long as a name can be; its longest word is the last one. */
const longName = `${'ab '.repeat(16)}lastwordlastwor`
const sigma = 'Σ1'

forEachCluster((cluster) => {
  describe('raw reads by names that are hard to read', () => {
    const hearsPath = majorOf(cluster) >= 18
    let target: Awaited<ReturnType<typeof createMaskedDatabase>>
    let gateway: Awaited<ReturnType<typeof openWatchedGateway>>
    const role = (name: string) => target.role(name)

    before(async () => {
      target = await createMaskedDatabase(cluster)
      const { sql } = target.database
      await target.createRole('auditor')
      await target.createRole('viewer', 'LOGIN NOINHERIT')
      await target.createRole('app', 'NOLOGIN')
      await createPeople(
        target,
        [
          ['public', 'auditor', 'viewer', 'app'],
          ['private', 'auditor', 'app'],
          ['side', 'viewer'],
        ],
        (schema) => (schema === 'private' ? raw : 'open@example.com'),
      )
      for (const name of [longName, sigma])
        await sql.unsafe(`create table public."${name}" (email text); insert into public."${name}" values ('${raw}');
          grant select on public."${name}" to "${role('auditor')}"`)
      await sql.unsafe(`grant "${role('app')}" to "${role('viewer')}"`)
      const masked = ['private.people', `public.${longName}`, `public.${sigma}`]
      const rules = masked.map((name) => rule(`${name}.email`, 'Email'))
      await takeTurn(target.database, policy(rules, [role('auditor'), role('app')]))
      gateway = await openWatchedGateway(target)
    })
    after(async () => {
      await gateway.close()
      await target[Symbol.asyncDispose]()
    })

    /** What the session touches, each once. */
    const touchesOf = async (run: () => Promise<unknown>) => nameTouched(await gateway.watch(run))

    /** Runs the texts; the last one reads a masked table as it is. */
    const touches = (name: string, ...texts: readonly string[]) =>
      touchesOf(async () => {
        const client = new pg.Client(gateway.configOf(name))
        await client.connect()
        try {
          for (const text of texts.slice(0, -1)) await client.query(text)
          const last = await client.query(texts.at(-1) ?? '')
          assert.equal(last.rows[0]?.email, raw)
        } finally {
          await client.end()
        }
      })

    /** Sends each group when the one before was answered; the last one reads a masked table as it is. */
    const send = (...groups: readonly (readonly Buffer[])[]) =>
      touchesOf(async () => {
        const client = await connectWire(gateway.configOf('auditor'))
        for (const [at, group] of groups.entries()) {
          client.write(...group)
          const times = group.filter(([type]) => type === 0x51 || type === 0x53).length
          const answer = await client.read(times)
          assert.equal(answer.bytes.includes(raw), at === groups.length - 1, answer.error?.get('M'))
        }
        await client.close()
      })
    const latin = (text: string) => Buffer.from(`${text}\0`, 'latin1')
    const parse = (name: string, text: string) => message('P', latin(name), latin(text), Buffer.alloc(2))
    const run = (name: string) => [
      message('B', '\0', latin(name), Buffer.alloc(6)),
      message('E', '\0', Buffer.alloc(4)),
      message('S'),
    ]
    const inPublic = query('set search_path = public')
    const inPrivate = query('set search_path = private')

    clause(
      'GATE-236',
      'A search path that PostgreSQL reports by a message of more than 1 MiB is not known until it…',
      async () => {
        const giant = `select length(set_config('search_path', 'private, ' || repeat('zz, ', 300000) || 'zz', false))`
        assert.deepEqual(await touches('auditor', 'set search_path = public', giant, reads), ['unparsed'])
        const prepared = [query(`prepare x as ${reads}`)]
        assert.deepEqual(await send([inPublic], prepared, [query(giant)], run('x')), ['unparsed'])
        // The next report is read.
        const found = await touches('auditor', giant, 'set search_path = private', reads)
        assert.deepEqual(found, hearsPath ? ['private.people.email'] : ['private.people.email', 'unparsed'])
      },
    )

    clause(
      'GATE-236',
      'A search path that PostgreSQL reports by a message of more than 1 MiB is not known until it…',
      async () => {
        for (const bytes of [100, 2 << 20])
          for (const isEarly of [false, true]) {
            const found = await gateway.watch(async () => {
              const client = await connectWire(gateway.configOf('auditor'))
              client.write(query('create temp table numbers (n int)'))
              await client.read()
              const copy = [parse('', 'copy numbers from stdin'), ...run('').slice(0, 2), message('H')]
              client.write(...copy)
              for (let type = 0; type !== 0x47; ) [type = 0] = await client.reader.takeFrame(1 << 30)
              client.write(message('d', 'x'.repeat(bytes), '\n'))
              const rest = [message('S'), query('prepare x as select email from private.people')]
              if (isEarly) client.write(...rest)
              for (let type = 0; type !== 0x45; ) [type = 0] = await client.reader.takeFrame(1 << 30)
              if (!isEarly) client.write(...rest)
              await client.read(2)
              client.write(query('execute x'), query('execute x'))
              assert.equal((await client.read(2)).values.length, 2)
              await client.close()
            })
            assert.deepEqual(nameTouched(found), ['private.people.email'])
            const sum = found.reduce((total, { count }) => total + count, 0)
            assert.equal(sum, 2, `${bytes} ${isEarly}`)
          }
      },
    )

    clause(
      'GATE-237',
      'A prepared statement that is an EXECUTE or a PREPARE counts at each Bind what it runs or prepares then,…',
      async () => {
        const sync = message('S')
        const known = [query(`prepare x as ${reads}`)]
        const found = await send([inPublic], known, [parse('p', 'execute x'), sync], [inPrivate], run('p'))
        assert.deepEqual(found, ['unparsed'])
        const later = await send(
          [inPublic],
          [parse('p', `prepare x as ${reads}`), sync],
          [query('prepare x as select 1')],
          [query('deallocate x')],
          run('p'),
          [inPrivate],
          [query('execute x')],
        )
        assert.deepEqual(later, ['unparsed'])
      },
    )

    clause(
      'GATE-240',
      'Where client and database do not both use UTF-8, or may not any more, a name of a prepared statement…',
      async () => {
        const inLatin = query('set client_encoding = latin1')
        const inUtf = query('set client_encoding = utf8')
        const sync = message('S')
        const text = (sql: string) => message('Q', latin(sql))
        const prepared = text(`prepare "é" as ${reads}`)
        assert.deepEqual(await send([inLatin], [inPublic], [prepared], [inPrivate], run('é')), ['unparsed'])
        const parsed = parse('é', reads)
        const executed = text('execute "é"')
        assert.deepEqual(await send([inLatin], [inPublic], [parsed, sync], [inPrivate], [executed]), [
          'unparsed',
        ])
        // The same bytes are two names.
        const letter = 'Ã©'
        const twice = [[parse(letter, reads), sync], [inLatin], [parse(letter, 'select 1'), sync], [inUtf]]
        assert.deepEqual(await send([inPublic], ...twice, [inPrivate], run(letter)), ['unparsed'])
        // One name by other bytes.
        const other = [[parse(letter, 'select 1'), sync], [inLatin], [text('deallocate "é"')], [parsed, sync]]
        assert.deepEqual(await send([inPublic], ...other, [inUtf], [inPrivate], run(letter)), ['unparsed'])
        if (!hearsPath) return
        // A name that both read alike is one as any other.
        const plain = await send([inPrivate], [parse(letter, reads), sync], run(letter))
        assert.deepEqual(plain, ['private.people.email'])
      },
    )

    clause(
      'GATE-241',
      'The gateway knows the new name of a view, of a relation with masks and of a schema a second after…',
      async () => {
        const { sql } = target.database
        await sql.unsafe(`create schema moved; create view public.seen as select email from private.people;
          create materialized view public.kept as select 1 as n; create table public.other (n int);
          grant select on public.seen to "${role('auditor')}"; alter view public.seen owner to "${role('auditor')}";
          grant create on schema public, moved to "${role('auditor')}"; grant usage on schema moved to "${role('auditor')}"`)
        let version = await readMaskVersion(sql)
        const changes = async (text: string) => {
          await sql.unsafe(text)
          const before = version
          version = await readMaskVersion(sql)
          return version !== before
        }
        for (const [text, undo] of [
          ['alter view public.seen rename to saw', 'alter view public.saw rename to seen'],
          ['alter view public.seen set schema moved', 'alter view moved.seen set schema public'],
          ['alter table private.people rename to persons', 'alter table private.persons rename to people'],
          ['alter schema private rename to secret', 'alter schema secret rename to private'],
        ] as const) {
          assert.ok(await changes(text), text)
          assert.ok(await changes(undo), undo)
        }
        for (const text of ['truncate public.other', 'refresh materialized view public.kept'])
          assert.ok(!(await changes(text)), text)
        for (const [name, change, next] of [
          ['seen', 'alter view seen rename to saw', 'saw'],
          ['saw', 'alter view saw set schema moved', 'moved.saw'],
        ] as const) {
          await waitUntil('the gateway knows the name', async () => {
            const found = await touches('auditor', `select email from ${name}`)
            return found.includes('private.people.email')
          })
          const found = await touches('auditor', change, `select email from ${next}`)
          assert.ok(found.includes('unparsed'), change)
        }
        await sql.unsafe('drop view moved.saw')
      },
    )

    clause(
      'GATE-238',
      'A search path of more than 10,000 schemas is not certain: a statement whose names depend on the…',
      async () => {
        const path = ['side', ...Array.from({ length: 10_000 }, (_, at) => `x${at}`), 'private'].join(',')
        const become = `set role "${role('app')}"`
        const set = `select length(set_config('search_path', '${path}', false))`
        assert.deepEqual(await touches('viewer', set, become, reads), ['unparsed'])
        const twice = 'private,'.repeat(10_001)
        const again = `select length(set_config('search_path', '${twice}public', false))`
        const found = await touches('auditor', again, reads)
        assert.deepEqual(found, hearsPath ? ['private.people.email'] : ['unparsed'])
      },
    )

    clause(
      'GATE-239',
      'A relation is found by every spelling of its name by which PostgreSQL finds it: longer than 63…',
      async () => {
        const long = [`public."${longName}".email`]
        for (const more of ['', 'd', 'ds and more'])
          assert.deepEqual(await touches('auditor', `select email from "${longName}${more}"`), long)
        for (const name of [sigma, `public.${sigma}`, `PUBLIC."${sigma}"`])
          assert.deepEqual(await touches('auditor', `select email from ${name}`), [`public."${sigma}".email`])
      },
    )
  })
})

function nameTouched(touches: readonly CountedTouch[]): string[] {
  return [...new Set(touches.flatMap(({ raw, isUnparsed }) => [...raw, ...(isUnparsed ? ['unparsed'] : [])]))]
}
