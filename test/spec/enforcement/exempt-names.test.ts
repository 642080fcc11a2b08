import assert from 'node:assert/strict'
import { after, before, describe } from 'node:test'
import { clause } from '../../support/clause.ts'
import { fillDirectory } from '../../support/directory.ts'
import { bindingOf, createMaskedDatabase } from '../../support/masked-database.ts'
import { emailRule, freshDatabase, policyUrl, useMasking } from '../../support/masking.ts'
import { forEachCluster } from '../../support/postgres.ts'
import { runHere } from '../../support/run-here.ts'

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
      'An entry of the exempt list that names a user, a group or an application of the directory exempts no database role by its name, whether the role was there before the entry or not; the note `ExemptsNoRole` says so. The login roles that the service made for the principals are exempt.',
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
          assert.deepEqual(await notesOf('ExemptsNoRole'), [name])
        }
        // An earlier release recorded the role, and exempted it.
        await masking.service().database.sql`
          update exempt_role set is_taken = false, role_oid = (${
            (
              await target.database
                .sql`select oid::int8 from pg_roles where rolname = ${`${user}@example.com`}`
            )[0]?.oid
          })::int8 where entry = ${`${user}@example.com`}`
        await turn()
        await isDenied('after an upgrade')
        const free = target.role('plain')
        await makeRole(free)
        await exempt(free)
        await sees()
        assert.deepEqual(await notesOf('ExemptsNoRole'), [])
        await exempt()
        await isDenied()
      },
    )

    clause(
      'ENF-315',
      'A role that has the name of an entry which named an object of the directory is not exempt when the object is deleted or gets another name; the note `ExemptNameTaken` says so. Removing and adding the entry exempts it.',
      async () => {
        const directory = fillDirectory(masking.service())
        const name = `${target.role('lea')}@example.com`
        const id = await directory.user(target.role('lea'))
        await makeRole(name)
        await exempt(name)
        await target.database.sql.unsafe(`alter role "${target.role('maker')}" nocreaterole`)
        await directory.softDelete(id)
        await turn()
        await isDenied()
        assert.deepEqual(await notesOf('ExemptNameTaken'), [name])
        await target.database.sql.unsafe(`alter role "${target.role('maker')}" createrole`)
        await exempt()
        await exempt(name)
        await sees()
        await exempt()
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
