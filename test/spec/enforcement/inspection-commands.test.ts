import assert from 'node:assert/strict'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { writeRunFile } from '../../../src/cli/run-file.ts'
import { createNodeCertificate } from '../../../src/http/local-ca.ts'
import { useBoundDatabase } from '../../support/bound-database.ts'
import { clause } from '../../support/clause.ts'
import { runHere, settleIn } from '../../support/run-here.ts'
import { waitUntil } from '../../support/wait-until.ts'

describe('looking into a bound database from the command line', () => {
  const { masking, db, bound } = useBoundDatabase()

  clause(
    'ENF-111',
    'The bound databases and the states of their masks are shown by `masquerade status`, which then ends with 4 when one has failed, and counted by state on `/metrics`.',
    async () => {
      const service = masking.service()
      const { dataDir, databaseUrl } = service
      await writeRunFile(dataDir, service)
      const environment = { MASQUERADE_DATA_DIR: dataDir, MASQUERADE_DATABASE_URL: databaseUrl }
      const metrics = async () => (await service.request('GET', '/metrics')).text

      const good = await runHere(['status'], { environment })
      assert.equal(good.code, 0, good.stderr)
      assert.match(good.stdout, new RegExp(`^ {2}Enforced +${db} since \\d{4}-\\S+Z$`, 'm'))
      assert.match(await metrics(), /^masquerade_masked_databases\{state="Failed"\} 0$/m)

      // Masks of another resource are left alone.
      const settle = () => masking.putPolicy(db, { dataMaskingState: 'Enabled' })
      await bound().database.sql`update masquerade_guard.policy set owner = gen_random_uuid()`
      assert.equal((await settle()).headers.get('x-masquerade-enforcement'), 'Failed')
      const bad = await runHere(['status'], { environment })
      assert.equal(bad.code, 4)
      assert.match(
        bad.stdout,
        /Failed .*\n +This database is masked by a resource that this service does not have/m,
      )
      const asJson = await runHere(['status', '--json'], { environment })
      assert.equal(JSON.parse(asJson.stdout).databases[0].state, 'Failed')
      assert.match(await metrics(), /^masquerade_masked_databases\{state="Failed"\} 1$/m)
      await bound().database.sql`update masquerade_guard.policy set owner = null`
      assert.equal((await settle()).headers.get('x-masquerade-enforcement'), 'Enforced')
    },
  )

  test('the doctor tells of a twin that was dropped', async () => {
    const environment = await settleIn(masking.service())
    const ask = async () => (await runHere(['doctor'], { environment })).stdout
    assert.doesNotMatch(await ask(), /drift of/)
    const drift = new RegExp(`^WARNING {2}drift of ${db}: \\d+ statements? would bring`, 'm')
    // The controller may come by and make the twin anew before the doctor has looked.
    await waitUntil('the doctor comes first', async () => {
      await bound().database.sql.unsafe(
        'set event_triggers = off; drop view if exists masked_public.person cascade; reset event_triggers',
      )
      return drift.test(await ask())
    })
    await masking.putPolicy(db, { dataMaskingState: 'Enabled' })
  })

  clause(
    'SVC-114',
    'Beside a service of an earlier release, which cannot prove itself, `masquerade doctor` says so and goes on…',
    async () => {
      const environment = await settleIn(masking.service())
      const file = join(masking.service().dataDir, 'run.json')
      const text = await readFile(file, 'utf8')
      const { certificate: _, ...older } = JSON.parse(text)
      const examine = async (run: object) => {
        await writeFile(file, JSON.stringify(run))
        const { stdout, stderr } = await runHere(['doctor', '--json'], { environment })
        await writeFile(file, text)
        assert.equal(stderr, '')
        const findings = JSON.parse(stdout) as { check: string; state: string; message: string }[]
        assert.deepEqual(
          findings.slice(-3).map(({ check }) => check),
          ['service', 'gateway', 'exposures'],
        )
        return findings.slice(-3)
      }
      const [, , beside] = await examine(older)
      assert.equal(beside?.state, 'warning')
      assert.match(beside.message, /^The service is of an earlier release/)
      // A program that is not the service.
      const { cert } = await createNodeCertificate()
      const [unproven, ...rest] = await examine({ ...older, certificate: cert })
      assert.equal(unproven?.state, 'problem')
      assert.match(unproven.message, /^It does not answer at .*: it was killed, or it is starting again\.$/)
      assert.deepEqual(
        rest.map(({ state }) => state),
        ['skipped', 'skipped'],
      )
    },
  )

  const command = (...args: string[]) => {
    const service = masking.service()
    const access = ['--url', service.origin, '--token', service.tokenFor({ role: 'Owner' })]
    return service.tokens.settled().then(() => runHere([...args, '-d', db, ...access]))
  }

  clause(
    'ENF-152',
    '`masquerade policy show` lists the notes of a state; `masquerade status` and every command that changes rules or the policy…',
    async () => {
      const { sql } = bound().database
      const { dataDir, databaseUrl } = masking.service()
      const environment = { MASQUERADE_DATA_DIR: dataDir, MASQUERADE_DATABASE_URL: databaseUrl }
      await sql.unsafe('create view public.only as select email from only public.person')
      const file = join(dataDir, 'noted.yaml')
      const rule = (name: string, column: string) =>
        `  - { name: ${name}, schemaName: public, tableName: person, columnName: ${column}, maskingFunction: Default }\n`
      await writeFile(file, `rules:\n${rule('noted', 'note')}`)
      const noted = await command('rules', 'apply', '-f', file, '--yes')
      assert.equal(noted.code, 0, noted.stderr)
      assert.match(noted.stdout, /^Done: 1 created/m)
      assert.match(noted.stderr, /^\d notes? about the masks: masquerade policy show$/m)
      const told = /^ +\d notes?: masquerade policy show$/m
      assert.match((await runHere(['status'], { environment })).stdout, told)
      const { stdout: diagnosis } = await runHere(['doctor'], {
        environment: await settleIn(masking.service()),
      })
      assert.match(diagnosis, /^WARNING {2}masks of .*: Enforced since .*\. \d notes? about it\.$/m)
      assert.match(
        (await command('policy', 'show')).stdout,
        /^Notes:\n[\s\S]*public\.only shows masked data/m,
      )
      const shown = JSON.parse((await command('policy', 'show', '--json')).stdout)
      assert.ok(shown.enforcement.notes.some(({ code }: { code: string }) => code === 'NoTwin'))

      // A superuser's session: the service ends none of those, however long the answer takes.
      await bound().database.transaction(async (tx) => {
        await tx`lock table public.person in access exclusive mode`
        await writeFile(file, `rules:\n${rule('noted', 'note')}${rule('paid', 'pay')}`)
        const stored = await command('rules', 'apply', '-f', file, '--yes')
        assert.equal(stored.code, 4, stored.stdout)
        assert.match(stored.stdout, /^Stored, and not enforced yet: 1 created/m)
        assert.match(stored.stderr, /^Enforcement: Pending\. .*waits for a lock that .* holds\. /m)
      })
      await sql.unsafe('drop view public.only cascade')
      for (const name of ['noted', 'paid']) await command('rules', 'delete', name)
    },
  )

  clause(
    'MASK-148',
    '`masquerade recommendations --yaml FILE` writes the recommended rules, each with its reasons, as a file that `masquerade rules apply` takes; `--apply` shows the impact, asks, and adds the rules. Rules that are there stay as they are.',
    async () => {
      const rules = async () => JSON.parse((await command('rules', 'list', '--json')).stdout)
      const before = await rules()
      const file = join(masking.service().dataDir, 'found.yaml')
      const written = await command('recommendations', '--yaml', file)
      assert.equal(written.code, 0, written.stderr)
      assert.match(
        written.stdout,
        /^\d+ rules are in .*found\.yaml\. Read it, then: masquerade rules apply -f /,
      )
      const text = await readFile(file, 'utf8')
      assert.match(
        text,
        /^ {2}# \d+ %: 100 % of 30 sampled values look like an e-mail address\n {2}- name: person\.contact$/m,
      )
      const dry = await command('rules', 'apply', '-f', file, '--dry-run')
      assert.equal(dry.code, 0, dry.stderr)
      assert.match(dry.stdout, /^\+ person\.contact: public\.person\.contact Email$/m)
      assert.deepEqual(await rules(), before)

      const asked = await command('recommendations', '--apply')
      assert.equal(asked.code, 2, asked.stdout)
      assert.match(asked.stderr, /this is not a terminal, so say --yes/)
      assert.equal((await command('recommendations', '--apply', '--yaml', 'x')).code, 2)
      const applied = await command('recommendations', '--apply', '--yes')
      assert.equal(applied.code, 0, applied.stderr)
      assert.match(
        applied.stdout,
        /statements would run\.\n[\s\S]*^\+ person\.contact: .*\n[\s\S]*^Done: \d+ created, 0 updated, 0 deleted/m,
      )
      assert.doesNotMatch(applied.stdout, /not in the file/)
      const after: { name: string }[] = await rules()
      assert.ok(after.length > before.length)
      for (const one of before)
        assert.deepEqual(
          after.find(({ name }) => name === one.name),
          one,
        )
      const rest = await command('recommendations')
      assert.equal(rest.stdout, 'No column without a rule looks sensitive.\n')
      for (const { name } of after)
        if (!before.some((one: { name: string }) => one.name === name)) await command('rules', 'delete', name)
    },
  )

  test('the command line shows all of it, and suspends tables', async () => {
    await bound().database.sql.unsafe(`create function public.peek() returns setof text language sql security definer
      as 'select email from public.person'`)
    const exposures = await command('exposures')
    assert.equal(exposures.code, 4, `${exposures.stdout}${exposures.stderr}`)
    assert.match(exposures.stdout, /^HIGH +SecurityDefinerFunction: function public\.peek/m)
    assert.match(exposures.stdout, /REVOKE EXECUTE ON ROUTINE public\.peek\(\) FROM/)
    const asJson = await command('exposures', '--json')
    assert.ok(
      JSON.parse(asJson.stdout).some((one: { code: string }) => one.code === 'SecurityDefinerFunction'),
    )

    const recommended = await command('recommendations')
    assert.equal(recommended.code, 0, recommended.stderr)
    assert.match(recommended.stdout, /public\.person\.contact +Email/)

    const shown = await command(
      'preview',
      '--table',
      'public.person',
      '--column',
      'contact',
      '--function',
      'Email',
    )
    assert.equal(shown.code, 0, shown.stderr)
    assert.match(shown.stdout, /^id +email\* +contact\*/)
    assert.match(shown.stdout, /lXXX@XXXX\.com/)
    assert.ok(!shown.stdout.includes('zelda'))

    const suspended = await command('suspend', '--table', 'public.person')
    assert.equal(suspended.stdout, 'public.person has no twin now.\n', suspended.stderr)
    const resumed = await command('resume', '--table', 'public."person"')
    assert.equal(resumed.stdout, 'public."person" has its twin again.\n', resumed.stderr)
    assert.equal((await command('suspend', '--table', 'person')).code, 2)
  })
})
