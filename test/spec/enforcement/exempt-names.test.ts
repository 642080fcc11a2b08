import assert from 'node:assert/strict'
import { after, before, describe } from 'node:test'
import { openDatabase } from '../../../src/db/database.ts'
import { clause } from '../../support/clause.ts'
import { fillDirectory } from '../../support/directory.ts'
import { bindingOf, createMaskedDatabase } from '../../support/masked-database.ts'
import { emailRule, freshDatabase, policyUrl, useMasking } from '../../support/masking.ts'
import { forEachCluster } from '../../support/postgres.ts'
import { runHere } from '../../support/run-here.ts'
import { waitUntil } from '../../support/wait-until.ts'

const canary = 'zqcanary@raw.example'
const masking = useMasking({ MASQUERADE_AUDIT_SECONDS: '3600' })

/** A masked role with CREATEROLE makes roles with the names of directory objects before an operator exempts these. */
forEachCluster((cluster) => {
  describe('roles with names of directory objects', () => {
    const db = freshDatabase()
    const documentUrl = `${policyUrl(db)}/document?api-version=2026-11-01`
    let target: Awaited<ReturnType<typeof createMaskedDatabase>>
    const reads = () => target.runAs('maker', 'select email from public.person')
    const isDenied = (message?: string) => assert.rejects(reads(), /permission denied/, message)
    const sees = async () => assert.deepEqual([...(await reads())], [{ email: canary }])
    const exempt = async (...entries: string[]) => {
      const policy = { dataMaskingState: 'Enabled', exemptPrincipals: entries }
      const { status, text } = await masking.send('PUT', documentUrl, {
        properties: { policy, rules: [{ name: 'mail', ...emailRule }] },
      })
      assert.equal(status, 200, text)
    }
    /** A turn, as the audit runs one. */
    const turn = () => masking.putRule(db, 'mail', { ...emailRule, maskingFunction: 'Default' })
    const notesOf = async (code: string): Promise<string[]> =>
      (await masking.send('GET', `${policyUrl(db)}/enforcement`)).body.notes
        .filter((note: { code: string }) => note.code === code)
        .map((note: { target: string }) => note.target)
    const warnings = async () =>
      (await masking.send('GET', documentUrl)).body.exemptions.map(
        (one: { entry: string; kind: string; roleNotExempt: boolean }) => [
          one.entry,
          one.kind,
          one.roleNotExempt,
        ],
      )
    const show = async () => {
      const token = masking.service().tokenFor({ role: 'Owner' })
      await masking.service().tokens.settled()
      const place = db.split('/').filter((_, at) => [2, 4, 8, 10].includes(at))
      const { origin } = masking.service()
      return (
        await runHere(['policy', 'show', '-d', place.join('/'), '--url', origin, '--token', token], {
          environment: { XDG_CONFIG_HOME: '/nonexistent' },
        })
      ).stdout
    }
    const made: string[] = []
    /** By the masked role, which becomes a member. */
    const makeRole = async (name: string) => {
      made.push(name)
      await target
        .connectAs('maker')
        .sql.unsafe(`create role "${name}"; grant "${name}" to "${target.role('maker')}"`)
    }

    /** Works while the database does not let the service in, and waits until it is enforced again. */
    const whileAway = async (work: () => Promise<void>) => {
      const { database } = bindingOf(target.url)
      const admin = openDatabase({ url: target.url.replace(/[^/]*$/, 'postgres'), poolSize: 1 })
      await admin.sql.unsafe(`alter database "${database}" allow_connections false`)
      try {
        await admin.sql`select pg_terminate_backend(pid) from pg_stat_activity where datname = ${database}`
        await work()
      } finally {
        await admin.sql.unsafe(`alter database "${database}" allow_connections true`)
        await admin.close()
      }
      await waitUntil('the database is enforced again', async () => {
        const put = await turn()
        return put.headers.get('x-masquerade-enforcement') === 'Enforced'
      })
    }

    before(async () => {
      target = await createMaskedDatabase(cluster)
      const maker = await target.createRole('maker', 'LOGIN CREATEROLE')
      await target.database.sql.unsafe(`create table public.person (id int, email text);
        insert into public.person values (1, '${canary}');
        grant usage on schema public to public; grant select on public.person to "${maker}"`)
      const bound = await masking.send('PUT', db, { properties: { binding: bindingOf(target.url) } })
      assert.equal(bound.status, 201, bound.text)
      await exempt()
      await isDenied()
    })
    after(async () => {
      for (const name of made) await target.database.sql.unsafe(`drop role if exists "${name}"`)
      await target[Symbol.asyncDispose]()
    })

    clause(
      'ENF-314',
      'An entry of the exempt list that names an object of the directory exempts no database role by its name…',
      async () => {
        const directory = fillDirectory(masking.service())
        const user = target.role('noor')
        const ids = [
          await directory.user(user),
          await directory.group(),
          await directory.servicePrincipal(),
          `${user}@example.com`,
        ]
        for (const name of ids) {
          await makeRole(name)
          await exempt(name)
          await isDenied(name)
          assert.deepEqual(await notesOf('ExemptNameTaken'), [name])
        }
        const free = target.role('plain')
        await makeRole(free)
        await exempt(free)
        await sees()
        assert.deepEqual(await notesOf('ExemptNameTaken'), [])
        await exempt()
        await isDenied()
      },
    )

    clause(
      'ENF-194',
      'An entry of the exempt list exempts the role that it named when a turn first looked at it. A role…',
      async () => {
        const ghost = target.role('ghost')
        await exempt(ghost)
        assert.deepEqual(await notesOf('ExemptsNothing'), [ghost])
        await makeRole(ghost)
        await turn()
        await isDenied()
        assert.deepEqual(await notesOf('ExemptNameTaken'), [ghost])
        await exempt()
        await exempt(ghost)
        await sees()
        assert.deepEqual(await notesOf('ExemptNameTaken'), [])
        await exempt()
      },
    )

    clause(
      'ENF-327',
      'An entry that is removed from the exempt list and added again counts as a new one (ENF-194), also where…',
      async () => {
        const directory = fillDirectory(masking.service())
        const name = `${target.role('ada')}@example.com`
        const id = await directory.user(target.role('ada'))
        await makeRole(name)
        await exempt(name)
        await directory.softDelete(id)
        await turn()
        await isDenied()
        await whileAway(() => exempt(name, target.role('another')))
        await isDenied('the entry stayed on the list')
        await whileAway(async () => {
          await exempt()
          await exempt(name)
        })
        await sees()
        assert.deepEqual(await notesOf('ExemptNameTaken'), [])
        await exempt()
      },
    )

    // By the policy and by a document, of a database that does not let the service in.
    for (const by of ['policy', 'document'])
      clause(
        'ENF-330',
        'An entry that names an object of the directory when it is stored exempts no role of its name after the…',
        async () => {
          const directory = fillDirectory(masking.service())
          const name = `${target.role(`ida-${by}`)}@example.com`
          const id = await directory.user(target.role(`ida-${by}`))
          await makeRole(name)
          await whileAway(async () => {
            if (by === 'document') await exempt(name)
            else {
              const put = await masking.putPolicy(db, { dataMaskingState: 'Enabled', exemptPrincipals: name })
              assert.equal(put.headers.get('x-masquerade-enforcement'), 'Pending', put.text)
            }
            await directory.softDelete(id)
          })
          await isDenied()
          assert.deepEqual(await notesOf('ExemptNameTaken'), [name])
          await exempt()
        },
      )

    // The list comes before the binding.
    clause(
      'ENF-330',
      'An entry that names an object of the directory when it is stored exempts no role of its name after the…',
      async () => {
        const directory = fillDirectory(masking.service())
        const name = `${target.role('uma')}@example.com`
        const id = await directory.user(target.role('uma'))
        await makeRole(name)
        await using other = await createMaskedDatabase(cluster)
        await other.database.sql.unsafe(`create table public.person (id int, email text);
          insert into public.person values (1, '${canary}');
          grant usage on schema public to public; grant select on public.person to "${name}"`)
        const later = freshDatabase()
        await masking.putPolicy(later, { dataMaskingState: 'Enabled', exemptPrincipals: name })
        await masking.putRule(later, 'mail', emailRule)
        await directory.softDelete(id)
        const bound = await masking.send('PUT', later, { properties: { binding: bindingOf(other.url) } })
        assert.equal(bound.headers.get('x-masquerade-enforcement'), 'Enforced', bound.text)
        const { sql } = other.database
        const [right] =
          await sql`select has_column_privilege(${name}, 'public.person', 'email', 'select') as raw`
        assert.deepEqual(right, { raw: false })
        await masking.putPolicy(later, { dataMaskingState: 'Disabled', exemptPrincipals: '' })
      },
    )

    clause(
      'MASK-244',
      '`exemptions` of a document and of an impact say with `roleNotExempt` that a database role has the name of an entry and is not exempt by it, and so does `masquerade policy show`: the entry names an object of the directory,…',
      async () => {
        const directory = fillDirectory(masking.service())
        const [free, held] = [target.role('eva'), target.role('kim')]
        await directory.user(free)
        const id = await directory.user(held)
        const [alone, both] = [`${free}@example.com`, `${held}@example.com`]
        await makeRole(both)
        await exempt(alone, both, target.role('maker'))
        assert.deepEqual(await warnings(), [
          [alone, 'User', false],
          [both, 'User', true],
          [target.role('maker'), 'DatabaseRole', false],
        ])
        assert.match(
          await show(),
          new RegExp(`${both} +user; WARNING: the database role of this name is not exempt`),
        )
        await directory.softDelete(id)
        await exempt(both)
        await isDenied()
        assert.deepEqual(await warnings(), [[both, 'DatabaseRole', true]])
        assert.match(await show(), /not the one that the entry meant; it exempts no one/)
        await exempt()
      },
    )
  })
})
