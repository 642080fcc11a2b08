import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { before, describe, it } from 'node:test'
import type { Page } from 'playwright-core'
import { clause } from '../support/clause.ts'
import { fillDirectory } from '../support/directory.ts'
import { addPerson, type Person } from '../support/issuer.ts'
import { createMaskedDatabase } from '../support/masked-database.ts'
import {
  checkAccessible,
  shopPage,
  shopPath,
  skipReason,
  walk as test,
  usePortal,
} from '../support/portal.ts'
import { runHere, settleIn } from '../support/run-here.ts'
import { promised } from '../support/wait-until.ts'

const policy = `${shopPath}/dataMaskingPolicies/Default`

describe('journeys through masks in the portal', { skip: skipReason ?? false }, () => {
  const portal = usePortal()
  let analyst: Person

  before(async () => {
    const { id } = portal.administrator()
    await portal.send('PUT', policy, { properties: { dataMaskingState: 'Enabled', exemptPrincipals: id } })
    analyst = await addPerson(portal.service(), { displayName: 'Ana Analyst' })
    const role = await portal.shop().createRole('analysts', 'NOLOGIN')
    await portal.shop().database.sql.unsafe(`grant select on all tables in schema public to "${role}"`)
    await portal.send('PUT', `${shopPath}/roleMappings/analysts`, {
      properties: { databaseRole: role, principalId: analyst.id },
    })
  })

  /** What a person does by and by, and how long it takes them who read everything but the rows of tables. */
  const walkIn = (page: Page) => {
    let seconds = 0
    const known = new Set<string>()
    const texts = `[...document.querySelectorAll('h1, h2, h3, p, label, button, legend, dt, a, .hint')]
      .filter((one) => one.checkVisibility()).map((one) => one.textContent.trim())`
    const read = async () => {
      const shown = (await page.evaluate(texts)) as string[]
      for (const text of shown.filter((one) => !known.has(one))) {
        known.add(text)
        seconds += text.split(/\s+/).length / 4
      }
    }
    const point = 1.5
    const perLetter = 0.3
    return {
      read,
      seconds: () => seconds,
      async press(name: string | RegExp) {
        await read()
        await page.getByRole('button', { name }).or(page.getByRole('link', { name })).first().click()
        seconds += point
      },
      async type(label: string, text: string) {
        await page.getByLabel(label).fill(text)
        seconds += point + text.length * perLetter
      },
    }
  }

  it('a first visit leads from the sign-in to a masked column of the sample shop within two minutes', async () => {
    await using opened = await portal.visit()
    const { page } = opened
    const { userPrincipalName, password } = portal.administrator()
    const { press, type, read, seconds } = walkIn(page)
    await page.goto(portal.service().origin)
    await page.getByLabel('Password').waitFor()
    await type('User name', userPrincipalName)
    await type('Password', password)
    await press('Sign in')
    await page.getByText('Look at them with two pairs of eyes').waitFor()
    await press('Open the sample shop')
    await page.getByText('raw → masked').first().waitFor()
    await press('Edit the mask of last_name')
    await page.getByText('raw → draft').waitFor()
    await press('Mask this column')
    await page.getByRole('dialog', { name: 'Mask last_name' }).getByText('masked_public').first().waitFor()
    await press('Apply')
    await page.getByText('last_name is masked now.', { exact: true }).first().waitFor()
    await read()
    assert.ok(seconds() * 1000 < promised(120_000), `${seconds()} seconds`)
  })

  test('an own database is bound after its statements were run, and five columns are masked but for an application', async () => {
    await using own = await createMaskedDatabase()
    const [binder, application] = [await own.createRole('binder'), await own.createRole('billing')]
    await own.database.sql.unsafe(`
      create table public.clients (id int primary key, email text, phone text, ssn text, first_name text, last_name text);
      insert into public.clients values (1, 'zoe@example.com', '+1-202-555-0101', '123-45-6789', 'Zoe', 'Quill');
      alter table public.clients owner to "${binder}"; grant usage on schema public to public; grant select on public.clients to "${application}"`)
    await using opened = await portal.open(portal.administrator(), '/welcome')
    const { page, faults } = opened
    const { hostname, port, pathname } = new URL(own.url)
    const fields = {
      Name: 'clients',
      Host: hostname,
      Port: port,
      'Database on the server': pathname.slice(1),
      User: binder,
      Password: 'secret',
    }
    for (const [label, value] of Object.entries(fields))
      await page.getByLabel(label, { exact: true }).fill(value)
    await page.getByLabel('Encryption').selectOption('disable')
    const bind = page.getByRole('button', { name: 'Bind a database' })
    await bind.click()
    const statements = page.getByRole('region', { name: 'Statements that put it right' })
    const missing = (await statements.textContent()) ?? ''
    assert.match(missing, /GRANT CREATE ON DATABASE/)
    // The browser itself writes a line about every answer of 400.
    assert.match(faults.splice(0).join(), /^error: Failed to load resource: .* 400 /)
    await own.database.sql.unsafe(missing)
    await bind.click()
    await page.getByRole('heading', { level: 1, name: 'clients' }).waitFor()

    await page.getByRole('button', { name: 'Look at them' }).click()
    await page.getByRole('button', { name: 'Review 5 recommendations' }).click()
    const drawer = page.getByRole('dialog', { name: 'Mask 5 columns' })
    await drawer.getByText(`${application} sees masked values in 1 table`).waitFor()
    await drawer.getByRole('button', { name: `Exempt ${application}` }).click()
    await drawer.getByText('exempt: keeps raw values').waitFor()
    await drawer.getByText('No role gains or loses raw values.').waitFor()
    await drawer.getByRole('button', { name: 'Apply' }).click()
    await page.getByText('5 columns are masked now.').first().waitFor()
    await page.getByText('Enforced').first().waitFor()
    const asApplication = own.connectAs('billing')
    const [row] = await asApplication.sql`select email from public.clients`
    assert.equal(row?.email, 'zoe@example.com', 'the application keeps raw values')
    const [, , subscription, group, server] = new URL(page.url()).pathname.split('/')
    const path = `/subscriptions/${subscription}/resourceGroups/${group}/providers/Vendor.Sql/servers/${server}/databases/clients`
    await page.close()
    await portal.send('POST', `${path}/restore`)
    await portal.send('DELETE', path)
  })

  test('a mask is changed with a live preview, and the query page of an analyst shows it at once', async () => {
    await using asked = await portal.open(analyst, `${shopPage}/query`)
    const results = asked.page.getByRole('region', { name: 'Results' })
    const run = async (expected: RegExp) => {
      await asked.page.getByRole('button', { name: 'Run' }).click()
      await results.getByText(expected).first().waitFor()
    }
    await asked.page
      .getByRole('textbox', { name: 'SQL statement' })
      .fill('select ssn from customers order by id')
    await run(/^XXX-XX-\d{4}$/)

    const address = `${shopPage}/data?schema=public&table=customers&column=ssn`
    await using opened = await portal.open(portal.administrator(), address)
    const { page } = opened
    await page.getByLabel('Masking function').selectOption('Text')
    await page.getByLabel('Kept at start').fill('2')
    await page.getByLabel('Filler').fill('##')
    await page
      .getByRole('region', { name: 'Preview' })
      .getByText(/^\d\d##$/)
      .first()
      .waitFor()
    await page.getByRole('button', { name: 'Review change' }).click()
    const drawer = page.getByRole('dialog', { name: 'Change the mask of ssn' })
    await drawer
      .getByRole('region', { name: 'Statements' })
      .getByText(/masked_public/)
      .waitFor()
    await drawer.getByRole('button', { name: 'Apply' }).click()
    await page.getByText('ssn is masked now.', { exact: true }).first().waitFor()
    // A char(11) is padded with blanks.
    await run(/^\d\d##\s*$/)
  })

  clause('SVC-93', 'After a change that can be taken back, the portal offers to undo it.…', async () => {
    const address = `${shopPage}/data?schema=public&table=customers&column=since`
    await using opened = await portal.open(portal.administrator(), address)
    const { page, faults } = opened
    const isMasked = async () => {
      const { body } = await portal.send('GET', `${policy}/document`)
      return body.properties.rules.some((rule: { columnName: string }) => rule.columnName === 'since')
    }
    const mask = async () => {
      await page.getByRole('button', { name: 'Mask this column' }).click()
      await page.getByRole('dialog').getByRole('button', { name: 'Apply' }).click()
      await page.getByRole('dialog').waitFor({ state: 'detached' })
    }
    await mask()
    await page.getByRole('link', { name: 'Overview' }).click()
    await page.getByRole('button', { name: 'Undo' }).click()
    const drawer = page.getByRole('dialog', { name: 'Undo: Mask since' })
    await drawer
      .getByRole('region', { name: 'Statements' })
      .getByText(/masked_public/)
      .waitFor()
    await drawer
      .getByText(/gains raw values in 1 table/)
      .first()
      .waitFor()
    await checkAccessible(page)
    assert.equal(await isMasked(), true, 'nothing happens before it is confirmed')
    await drawer.getByRole('button', { name: 'Undo' }).click()
    await page.getByText('The change was taken back.').first().waitFor()
    assert.equal(await isMasked(), false)

    await page.goBack()
    await mask()
    await portal.send('PUT', `${policy}/rules/meanwhile`, {
      properties: {
        schemaName: 'public',
        tableName: 'orders',
        columnName: 'ordered_at',
        maskingFunction: 'Default',
      },
    })
    await page.getByRole('button', { name: 'Undo' }).click()
    await drawer.getByRole('button', { name: 'Undo' }).click()
    await drawer.getByRole('alert').waitFor()
    assert.match(faults.splice(0).join(), /^error: Failed to load resource: .* 412 /)
    assert.equal(await isMasked(), true, 'the change of another person stays')
  })

  test('several columns are masked in one change, and masks of several rules are changed in one', async () => {
    const address = `${shopPage}/data?schema=public&table=staff`
    await using opened = await portal.open(portal.administrator(), address)
    const { page } = opened
    await page.getByRole('checkbox', { name: 'Select email' }).click()
    await page.getByRole('checkbox', { name: 'Select job' }).click()
    await page.waitForURL((url) => url.searchParams.get('columns') === 'email,job')
    await page.getByLabel('Masking function').selectOption('Text')
    await page.getByLabel('Filler').fill('~')
    await page.getByRole('button', { name: 'Mask 2 columns' }).click()
    const drawer = page.getByRole('dialog', { name: 'Mask 2 columns' })
    await drawer.getByText('public.staff.job').waitFor()
    await drawer.getByRole('button', { name: 'Apply' }).click()
    await page.getByText('2 columns are masked now.').first().waitFor()
    await drawer.waitFor({ state: 'detached' })
    await page.getByRole('link', { name: /^Rules/ }).click()
    await page.getByLabel('Filter rules').fill('staff')
    await page.getByRole('checkbox', { name: 'Select all rows' }).click()
    await page.getByRole('button', { name: 'Change masks' }).click()
    await page.getByRole('dialog').getByLabel('Masking function').selectOption('Default')
    await page.getByRole('dialog').getByRole('button', { name: 'Mask 2 columns' }).click()
    await drawer.getByRole('button', { name: 'Apply' }).click()
    await drawer.waitFor({ state: 'detached' })
    const { body } = await portal.send('GET', `${policy}/document`)
    const rules = body.properties.rules.filter(
      ({ tableName }: { tableName: string }) => tableName === 'staff',
    )
    assert.deepEqual(
      rules.map((rule: { columnName: string; maskingFunction: string }) => [
        rule.columnName,
        rule.maskingFunction,
      ]),
      [
        ['email', 'Default'],
        ['job', 'Default'],
      ],
    )
  })

  test('why a person sees raw values is answered within three clicks from the column', async () => {
    const directory = fillDirectory(portal.service())
    const inner = await directory.group({ displayName: 'Fraud desk' })
    const outer = await directory.group({ displayName: 'Raw readers' })
    const person = await addPerson(portal.service(), { displayName: 'Frida Fraud' })
    await directory.join(person.id, inner)
    await directory.join(inner, outer)
    const exemptPrincipals = `${portal.administrator().id};${outer}`
    await portal.send('PUT', policy, { properties: { dataMaskingState: 'Enabled', exemptPrincipals } })
    const address = `${shopPage}/data?schema=public&table=customers&column=email`
    await using opened = await portal.open(portal.administrator(), address)
    const { page } = opened
    await page.getByRole('button', { name: 'See as…' }).click()
    await page.getByRole('dialog').getByRole('searchbox').fill('frida')
    await page.getByRole('dialog').getByRole('button', { name: 'Frida Fraud' }).click()
    const line = page.getByRole('status').filter({ hasText: 'Frida Fraud sees raw values here' })
    await line.getByRole('link', { name: 'Raw readers' }).waitFor()
    await line.getByRole('link', { name: 'Why?' }).click()
    await page.getByRole('heading', { name: 'Frida Fraud is a member of Raw readers' }).waitFor()
    await page.goBack()
    await page.getByText('Frida Fraud sees raw values here').waitFor()
    await page.getByRole('button', { name: 'Back to my own eyes' }).click()
    await page.getByText('raw → masked').first().waitFor()
  })

  test('the preview is seen with the eyes of a database role', async () => {
    const { database, createRole } = portal.shop()
    const role = await createRole('ledger', 'NOLOGIN')
    await database.sql.unsafe(`grant select (id, email) on public.customers to "${role}"`)
    await portal.send('PUT', policy, {
      properties: { dataMaskingState: 'Enabled', exemptPrincipals: portal.administrator().id },
    })
    const address = `${shopPage}/data?schema=public&table=customers&column=email`
    await using opened = await portal.open(portal.administrator(), address)
    const { page } = opened
    const preview = page.getByRole('region', { name: 'Preview' })
    await page.getByText('raw → masked').first().waitFor()
    await page.getByRole('button', { name: 'See as…' }).click()
    await page.getByRole('radio', { name: 'Database role' }).click()
    await page.getByRole('searchbox', { name: 'Find a database role' }).fill(role)
    await page.getByRole('button', { name: role }).getByText('masked values').waitFor()
    await checkAccessible(page)
    await page.getByRole('button', { name: role }).click()
    await page.getByText(`${role} sees masked values here.`).waitFor()
    assert.match(page.url(), /[?&]role=/)
    await preview
      .getByText(/^.XXX@XXXX\.com$/)
      .first()
      .waitFor()
    await preview.getByText('no privilege').first().waitFor()
    assert.equal(await preview.getByText(/@example\.com$/).count(), 0)
    await page.reload()
    await page.getByText(`${role} sees masked values here.`).waitFor()
    await page.getByRole('button', { name: 'Back to my own eyes' }).click()
    await page.getByText('raw → masked').first().waitFor()
  })

  /** Presses Tab until the focused control has this name. */
  const tabTo = async (page: Page, name: string) => {
    const read = `(() => { const one = document.activeElement; const labels = [...(one?.labels ?? [])].map((l) => l.textContent);
      return [one?.getAttribute('aria-label'), ...labels, one?.textContent].find((text) => text) ?? '' })()`
    for (let presses = 0; presses < 120; presses++) {
      await page.keyboard.press('Tab')
      if (String(await page.evaluate(read)).trim() === name) return
    }
    assert.fail(`Tab does not lead to ${name}`)
  }

  test('a column is found and masked by the keyboard alone', async () => {
    await using opened = await portal.open(portal.administrator(), '/')
    const { page } = opened
    await page.keyboard.press('Control+k')
    await page.keyboard.type('orders.status')
    await page.getByRole('option', { name: /orders\.status/, selected: true }).waitFor()
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { level: 2, name: 'status' }).waitFor()
    await tabTo(page, 'Masking function')
    await page.keyboard.type('Default')
    await tabTo(page, 'Mask this column')
    await page.keyboard.press('Enter')
    await page.getByRole('dialog', { name: 'Mask status' }).getByText('Not masked').waitFor()
    await tabTo(page, 'Apply')
    await page.keyboard.press('Enter')
    await page.getByText('status is masked now.', { exact: true }).first().waitFor()
  })

  test('recommendations are accepted by the keyboard alone', async () => {
    await using opened = await portal.open(portal.administrator(), `${shopPage}/data`)
    const { page } = opened
    await page.getByRole('button', { name: 'Look at them' }).waitFor()
    await tabTo(page, 'Look at them')
    await page.keyboard.press('Enter')
    await page.getByRole('dialog', { name: 'Recommendations' }).waitFor()
    const review = page.getByRole('button', { name: /^Review \d+ recommendation/ })
    await tabTo(page, ((await review.textContent()) ?? '').trim())
    await page.keyboard.press('Enter')
    await page.getByRole('dialog', { name: /^Mask \d+ column/ }).waitFor()
    await tabTo(page, 'Apply')
    await page.keyboard.press('Enter')
    await page
      .getByText(/masked now\.$/)
      .first()
      .waitFor()
    assert.deepEqual((await portal.send('GET', `${policy}/recommendations`)).body.value, [])
  })

  test('a group is made and gets a member by the keyboard alone', async () => {
    const name = `Keyboard ${randomUUID().slice(0, 6)}`
    await using opened = await portal.open(portal.administrator(), '/')
    const { page } = opened
    await page.keyboard.press('Control+k')
    await page.keyboard.type('new group')
    await page.keyboard.press('Enter')
    await page.getByRole('dialog', { name: 'New group' }).waitFor()
    await tabTo(page, 'Name')
    await page.keyboard.type(name)
    await tabTo(page, 'Create')
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { level: 1, name }).waitFor()
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    await tabTo(page, 'Add members')
    await page.keyboard.press('Enter')
    await page.getByRole('dialog').waitFor()
    await tabTo(page, 'People, groups and applications')
    await page.keyboard.type('Ana An')
    await page.locator('.picker-option:first-child', { hasText: 'Ana Analyst' }).waitFor()
    await page.keyboard.press('Tab')
    await page.keyboard.press('Enter')
    await tabTo(page, 'Add')
    await page.keyboard.press('Enter')
    await page.getByRole('link', { name: 'Ana Analyst' }).waitFor()
  })

  clause(
    'MASK-209',
    '`GET {db}/columns?search=` finds columns of the bound database by a part of `schema.table.column`, in any case: …',
    async () => {
      const { body } = await portal.send('GET', `${shopPath}/columns?search=CUSTOMERS.E`)
      assert.deepEqual(body.value, [
        {
          schemaName: 'public',
          tableName: 'customers',
          columnName: 'email',
          type: 'character varying(80)',
          ruleName: 'customer-email',
        },
      ])
      const { body: none } = await portal.send('GET', `${shopPath}/columns?search=nothing_like_it`)
      assert.deepEqual(none.value, [])
    },
  )

  clause(
    'MASK-217',
    'The service keeps, for each day of UTC and for 92 days, how many exposures and recommendations it last found…',
    async () => {
      const { sql } = portal.service().database
      const earlier = async () => {
        const { body } = await portal.send('GET', '/providers/Vendor.Sql/databases')
        return body.value.find(({ name }: { name: string }) => name === 'shop').properties.earlierFindings
      }
      const count = async (kind: string) => (await portal.send('GET', `${policy}/${kind}`)).body.value.length
      await sql`delete from counted_finding`
      const [exposures, recommendations] = [await count('exposures'), await count('recommendations')]
      assert.deepEqual(await earlier(), { exposures: null, recommendations: null }, 'today is no earlier day')
      await sql`update counted_finding set day = day - 3`
      await sql`insert into counted_finding select database_id, kind, day - 90, 77 from counted_finding`
      const [{ day } = {}] = await sql<{ day: string }[]>`select max(day)::text as day from counted_finding`
      await count('exposures')
      assert.deepEqual(await earlier(), {
        exposures: { day, count: exposures },
        recommendations: { day, count: recommendations },
      })
      const left = await sql`select from counted_finding where count = 77 and kind = 'exposure'`
      assert.equal(left.count, 0, 'counts of more than 92 days ago are gone')
      await using opened = await portal.open(portal.administrator(), '/')
      const figure = opened.page.locator('.figure', { hasText: 'Open exposures' })
      await figure.getByText(/^Unchanged since /).waitFor()
    },
  )

  clause(
    'SVC-150',
    'The portal, its exports and `masquerade audit` show reads of masked columns as raw, masked and denied, with their columns…',
    async () => {
      const { sql } = portal.service().database
      const columns = ['public.customers.email']
      const reads = {
        auditor: [{ kind: 'COPY', count: 7, raw: columns }],
        reporter: [
          { kind: 'SELECT', count: 40, masked: columns },
          { kind: 'SELECT', count: 3, denied: ['public.customers.ssn'] },
        ],
      }
      await sql`delete from audit_event where action = 'gateway/touch'`
      for (const [role, statements] of Object.entries(reads)) {
        const actor = { kind: 'databaseRole', objectId: role, applicationId: '' }
        await sql`insert into audit_event (tenant_id, actor, action, target, after)
          select tenant_id, ${sql.json(actor)}, 'gateway/touch', ${shopPath.toLowerCase()}, ${sql.json({ role, statements })}
          from first_start`
      }
      await using opened = await portal.open(portal.administrator(), '/')
      const { page } = opened
      const card = page.locator('.card', { hasText: 'Who read raw values' })
      await card.locator('canvas').waitFor()
      assert.deepEqual(await card.locator('dt, dd').allInnerTexts(), [
        ...['Raw reads', '7', 'Masked reads', '40', 'Denied reads', '3'],
      ])
      assert.deepEqual(await card.getByRole('listitem').allInnerTexts(), [
        'auditor\n7 raw',
        'reporter\n40 masked · 3 denied',
      ])
      await checkAccessible(page)
      await page.goto(`${portal.service().origin}${shopPage}/activity?kind=touch`)
      const rows = page.getByRole('row')
      await rows.filter({ hasText: /Read raw values.*raw: public\.customers\.email/s }).waitFor()
      const both = /Read masked values.*masked: public\.customers\.email; denied: public\.customers\.ssn/s
      await rows.filter({ hasText: both }).waitFor()
      const [saved] = await Promise.all([
        page.waitForEvent('download'),
        page.getByRole('button', { name: 'Export CSV' }).click(),
      ])
      const csv = await readFile(await saved.path(), 'utf8')
      assert.match(csv, /"auditor","Read raw values","raw: public\.customers\.email"/)
      await page.goto(`${portal.service().origin}/audit?tab=masking&what=touch`)
      const chart = page.locator('.touch-chart').getByRole('listitem')
      await chart.first().getByText('7 raw · 40 masked').waitFor()
      await chart.last().getByText('3 denied').waitFor()
      await checkAccessible(page)
      const told = await runHere(['audit', '--what', 'touch'], {
        environment: await settleIn(portal.service()),
      })
      assert.match(told.stdout, /auditor\s+gateway\/touch raw\s/, told.stderr)
      assert.match(told.stdout, /reporter\s+gateway\/touch masked denied\s/)
    },
  )

  clause(
    'MASK-210',
    '`GET /providers/Vendor.Sql/activitySummary` counts, for callers who may read the audit of everything and for each day…',
    async () => {
      const from = new Date(Date.now() - 36 * 3_600_000).toISOString()
      const path = '/providers/Vendor.Sql/activitySummary'
      const { body } = await portal.send('GET', `${path}?from=${from}`)
      assert.equal(body.days.length, 2)
      assert.equal(body.days[0].start, from)
      assert.deepEqual([body.days[0].changes, body.days[0].rulesAdded], [0, 0], 'nothing had happened yet')
      assert.ok(body.days[1].rulesAdded >= 2)
      assert.ok(body.days[1].changes > body.days[1].rulesAdded)
      assert.ok(body.openSessions >= 0)
      const ancient = await portal.send('GET', `${path}?from=2001-01-01`)
      assert.equal(ancient.body.days.length, 92)
      const token = portal.service().tokenFor({ principal: analyst.id, permissions: ['user_impersonation'] })
      const refused = await portal.service().request('GET', `${path}?api-version=2014-04-01`, { token })
      assert.equal(refused.status, 403)
    },
  )
})
