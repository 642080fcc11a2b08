import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import pg from 'pg'
import type { CountedTouch } from '../../../src/gateway/audit/touch.ts'
import { takeTurn } from '../../../src/masks/turn.ts'
import { message, query } from '../../../src/wire/messages.ts'
import { connectWire } from '../../support/byte-client.ts'
import { clause } from '../../support/clause.ts'
import { majorOf } from '../../support/cluster.ts'
import { createMaskedDatabase, policy, rule } from '../../support/masked-database.ts'
import { forEachCluster } from '../../support/postgres.ts'
import { createPeople, openWatchedGateway } from '../../support/watched-gateway.ts'

const reads = 'select email from people'
const capitals = 'bÜcher'
const long = 'x'.repeat(63)

forEachCluster((cluster) => {
  describe('names that may mean several relations', () => {
    const hearsPath = majorOf(cluster) >= 18
    let target: Awaited<ReturnType<typeof createMaskedDatabase>>
    let gateway: Awaited<ReturnType<typeof openWatchedGateway>>
    const role = (name: string) => target.role(name)
    const people = (schema: string) => `"${schema}".people.email`.replace(/^"([a-z_][a-z0-9_]*)"/, '$1')

    before(async () => {
      target = await createMaskedDatabase(cluster)
      const { sql } = target.database
      await target.createRole('auditor')
      for (const name of ['viewer', 'clerk']) await target.createRole(name, 'LOGIN NOINHERIT')
      for (const name of ['app', 'desk']) await target.createRole(name, 'NOLOGIN')
      const readers: [schema: string, ...names: string[]][] = [
        ['public', 'auditor', 'viewer', 'app', 'clerk', 'desk'],
        [role('auditor'), 'auditor'],
        [role('app'), 'app'],
        [role('clerk'), 'clerk'],
        ['private', 'auditor', 'app', 'desk'],
        [capitals, 'auditor'],
        [long, 'auditor'],
      ]
      await createPeople(target, readers, (schema) => `${schema === 'public' ? 'open' : 'raw'}@example.com`)
      await sql.unsafe(
        `grant "${role('app')}" to "${role('viewer')}"; grant "${role('desk')}" to "${role('clerk')}"`,
      )
      // Two schemas of the role itself: one with a table that nothing masks, one that it may not use until it grants itself that.
      const owner = role('auditor')
      await sql.unsafe(`create schema mine authorization "${owner}"; create table mine.people (id int, email text);
        alter table mine.people owner to "${owner}"; create schema kept authorization "${owner}";
        create table kept.people (id int, email text); insert into kept.people values (1, 'raw@example.com');
        grant select on kept.people to "${owner}"; revoke all on schema kept from "${owner}"`)
      readers.push(['kept'])
      const masked = readers.slice(1).map(([schema]) => rule(`${schema}.people.email`, 'Email'))
      await takeTurn(target.database, policy(masked, [role('auditor'), role('app')]))
      gateway = await openWatchedGateway(target)
    })
    after(async () => {
      await gateway.close()
      await target[Symbol.asyncDispose]()
    })

    /** What the session touches, each once. */
    const touchesOf = async (run: () => Promise<unknown>) => (await gateway.watch(run)).map(describeTouch)

    /** Runs the texts; the last one has to read a masked table as it is. */
    const watch = (name: string, texts: readonly string[], email = 'raw@example.com') =>
      gateway.watch(async () => {
        const client = new pg.Client(gateway.configOf(name))
        await client.connect()
        try {
          for (const text of texts.slice(0, -1)) await client.query(text).catch(() => {})
          const last = [await client.query(texts.at(-1) ?? '')].flat().at(-1)
          assert.equal(last?.rows[0]?.email, email, texts.join('; '))
        } finally {
          await client.end()
        }
      })
    const touches = async (...args: Parameters<typeof watch>) => (await watch(...args)).map(describeTouch)

    /** From 18 on PostgreSQL reports its path. Before, whatever depends on it is not certain. */
    function check(found: readonly object[], expected: readonly object[]): void {
      if (hearsPath) assert.deepEqual(found, expected)
      else assert.ok(found.some((touch) => 'unparsed' in touch))
    }

    clause(
      'GATE-223',
      'A name without a schema that is found in several schemas of the search path, depending on the…',
      async () => {
        const become = `set role "${role('app')}"`
        const raw = (schema: string) => ({ raw: [people(schema)] })
        // $user is a schema of the current role, in the same text too.
        const user = `set search_path = "$user", public; ${reads}`
        check(await touches('auditor', [user]), [raw(role('auditor'))])
        check(await touches('viewer', [become, reads]), [raw(role('app'))])
        const runs = await watch('viewer', [`prepare p as ${reads}`, become, 'execute p'])
        check(runs.map(describeTouch), [raw(role('app'))])
        // Its run is in the audit too, not its preparation alone.
        if (!hearsPath) assert.ok(runs.reduce((sum, { count }) => sum + count, 0) > 1)
        // A schema that the role of the login may not use.
        const path = 'set search_path = private, public'
        check(await touches('viewer', [path, become, reads]), [raw('private')])
        check(await touches('viewer', [`${path}; ${become}; ${reads}`]), [{ unparsed: true }, raw('private')])
        check(await touches('viewer', [path, `select set_config('role', '${role('app')}', false)`, reads]), [
          raw('private'),
        ])
        if (!hearsPath) return
        // Nothing is added where one relation is on the path, or the role can become no other.
        assert.deepEqual(await touches('viewer', ['set search_path = public', reads], 'open@example.com'), [])
        assert.deepEqual(await touches('auditor', [reads]), [raw(role('auditor'))])
        assert.deepEqual(await touches('auditor', ['set search_path = private, public', reads]), [
          raw('private'),
        ])
      },
    )

    clause(
      'GATE-246',
      'A name without a schema touches the masked columns of every relation of that name on the search…',
      async () => {
        const raw = { raw: [people('private')] }
        const own = `"${role('auditor')}"`
        const losses = [
          'drop table mine.people',
          'alter table mine.people rename to others',
          `revoke usage on schema mine from ${own}`,
        ]
        for (const loss of losses) {
          const found = await touches('auditor', ['set search_path = mine, private', 'begin', loss, reads])
          if (hearsPath) assert.deepEqual(found.at(-1), raw, loss)
          check(found, found)
        }
        const grant = `grant usage on schema kept to ${own}`
        check(await touches('auditor', ['set search_path = kept, public', 'begin', grant, reads]), [
          { raw: [people('kept')] },
        ])
        // The later one counts also where the first one is read.
        const path = 'set search_path = public, private'
        check(await touches('auditor', [path, reads], 'open@example.com'), [raw])
      },
    )

    clause(
      'GATE-247',
      'A session whose role has another name than at its login, or whose name another role has, is…',
      async () => {
        const { sql } = target.database
        const [name, moved, twin] = ['mover', 'moved', 'mover'].map(role)
        await target.createRole('mover')
        await sql.unsafe(`grant "${role('auditor')}" to "${name}"`)
        const text = 'select email from private.people'
        const runs = await gateway.watch(async () => {
          const client = new pg.Client(gateway.configOf('mover'))
          await client.connect()
          const read = async () => assert.equal((await client.query(text)).rows[0]?.email, 'raw@example.com')
          await read()
          try {
            await sql.unsafe(`alter role "${name}" rename to "${moved}"`)
            await gateway.refresh()
            await read()
            await sql.unsafe(`create role "${twin}"`)
            await gateway.refresh()
            await read()
          } finally {
            await client.end()
            await sql.unsafe(`drop role if exists "${twin}"; alter role "${moved}" rename to "${name}"`)
          }
        })
        const known = runs.filter(({ isUnparsed }) => !isUnparsed)
        assert.deepEqual(known.map(describeTouch), [{ raw: [people('private')] }])
        assert.equal(
          runs.reduce((sum, { count }) => sum + count, 0),
          3,
        )
      },
    )

    clause(
      'GATE-224',
      'A search path counts as PostgreSQL reported it last: one that a statement sets does not, where…',
      async () => {
        const path = 'set search_path = private, public'
        const raw = { raw: [people('private')] }
        check(await touches('auditor', [path, 'begin; set search_path = public; rollback', reads]), [raw])
        check(await touches('auditor', [path, 'set search_path = public; select 1/0', reads]), [raw])
        const parse = (name: string, text: string) => message('P', `${name}\0${text}\0`, Buffer.alloc(2))
        const run = [message('B', '\0\0', Buffer.alloc(6)), message('E', '\0', Buffer.alloc(4)), message('S')]
        const send = (...groups: Buffer[][]) =>
          touchesOf(async () => {
            const client = await connectWire(gateway.configOf('auditor'))
            client.write(query(path))
            await client.read()
            for (const [at, group] of groups.entries()) {
              client.write(...group)
              const isLast = at === groups.length - 1
              assert.equal((await client.read()).bytes.includes('raw@example.com'), isLast)
            }
            await client.close()
          })
        const unrun = parse('s', 'set search_path = public')
        check(await send([unrun, message('S')], [query(reads)]), [raw])
        check(await send([unrun, parse('', reads), ...run]), [{ unparsed: true }])
      },
    )

    clause(
      'GATE-224',
      'A search path counts as PostgreSQL reported it last: one that a statement sets does not, where…',
      async () => {
        const unparsed = { unparsed: true }
        check(await touches('auditor', [set('BÜCHER, public'), reads]), [
          { raw: [people(capitals)] },
          unparsed,
        ])
        check(await touches('auditor', [set(`${long}yz, public`), reads]), [unparsed])
        check(await touches('auditor', [`set search_path = '${long}yz', public; ${reads}`]), [unparsed])
        check(await touches('auditor', [set(`"${capitals}", public`), reads]), [{ raw: [people(capitals)] }])
        const { sql } = target.database
        const owner = `alter role "${role('auditor')}" in database "${new URL(target.url).pathname.slice(1)}"`
        await sql.unsafe(`${owner} set search_path = "${capitals}", public`)
        const latin = ['set client_encoding = latin1', 'reset search_path']
        const found = []
        for (const texts of [latin, [latin.join('; ')]])
          found.push(await touches('auditor', ['set search_path = public', ...texts, reads]))
        await sql.unsafe(`${owner} reset search_path`)
        for (const each of found) assert.ok(each.some((touch) => 'unparsed' in touch))
      },
    )

    test('a masked role sees no raw value by a name that the gateway understands differently', async () => {
      const client = new pg.Client(gateway.configOf('clerk'))
      client.on('error', () => {})
      await client.connect()
      const ask = async (...texts: string[]) => {
        for (const text of texts.slice(0, -1)) await client.query(text)
        const answer = await client.query(texts.at(-1) ?? '').catch((error: pg.DatabaseError) => error)
        return 'rows' in answer ? answer.rows[0]?.email : answer.code
      }
      const become = `set role "${role('desk')}"`
      assert.equal(await ask(reads), 'rXXX@XXXX.com')
      // PostgreSQL means public.people, the gateway moves the name to the twin of the role's own.
      assert.equal(await ask(become, reads), '42501')
      assert.equal(await ask('reset role', 'set search_path = private, public', become, reads), '42501')
      assert.equal(await ask('reset role', set('BÜCHER, public'), reads), 'open@example.com')
      await client.end()
    })
  })
})

function describeTouch({ masked, raw, written, isUnparsed }: CountedTouch): Record<string, string[] | true> {
  return {
    ...(masked.length > 0 && { masked: [...masked] }),
    ...(raw.length > 0 && { raw: [...raw] }),
    ...(written.length > 0 && { written: [...written] }),
    ...(isUnparsed && { unparsed: true as const }),
  }
}

function set(path: string): string {
  return `select set_config('search_path', '${path}', false)`
}
