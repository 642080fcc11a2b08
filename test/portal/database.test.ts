import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import pg from 'pg'
import { clause } from '../support/clause.ts'
import { addPerson } from '../support/issuer.ts'
import {
  checkAccessible,
  follow,
  shopPage,
  shopPath,
  signIn,
  skipReason,
  walk as test,
  usePortal,
} from '../support/portal.ts'
import { waitUntil } from '../support/wait-until.ts'

const policy = `${shopPath}/dataMaskingPolicies/Default`

describe('the pages of a database', { skip: skipReason ?? false }, () => {
  const portal = usePortal()

  it('a column is masked with a live preview, impact and statements', async () => {
    const { id } = portal.administrator()
    await portal.send('PUT', policy, { properties: { dataMaskingState: 'Enabled', exemptPrincipals: id } })
    const role = await portal.shop().createRole('reader')
    await portal.shop().database.sql.unsafe(`grant select on public.customers to "${role}"`)
    const reader = new pg.Client({ connectionString: portal.shop().urlOf('reader') })
    await reader.connect()
    const [session] = (await reader.query('select pg_backend_pid() as pid')).rows
    await reader.query('begin; declare open_cursor cursor for select phone from public.customers')
    await using opened = await portal.open(portal.administrator(), `${shopPage}/data`)
    const { page } = opened
    await page.getByLabel('Find a table').fill('custom')
    await page.getByRole('link', { name: /customers/ }).click()
    await page.getByRole('button', { name: 'Edit the mask of phone' }).click()
    await page.getByLabel('Masking function').selectOption('Text')
    await page.getByLabel('Kept at end').fill('2')
    await page.getByLabel('Filler').fill('~~~')
    await page.getByText('raw → draft').waitFor()
    const preview = page.getByRole('region', { name: 'Preview' })
    await preview
      .getByText(/^.~~~\d\d$/)
      .first()
      .waitFor()
    await preview
      .getByText(/^\+1-\d{3}-555/)
      .first()
      .waitFor()
    assert.match(page.url(), /schema=public&table=customers.*column=phone|column=phone.*table=customers/)
    await checkAccessible(page)

    await page.getByRole('button', { name: 'Mask this column' }).click()
    const drawer = page.getByRole('dialog', { name: 'Mask phone' })
    await drawer.getByText('Not masked').waitFor()
    await drawer
      .getByRole('region', { name: 'Statements' })
      .getByText(/masked_public/)
      .waitFor()
    await drawer.getByText('1 session may go on reading raw values by an open cursor').waitFor()
    await drawer.getByText(`SELECT pg_terminate_backend(${session.pid})`).waitFor()
    await checkAccessible(page)
    await drawer.getByRole('button', { name: 'Apply' }).click()
    await page.getByText('phone is masked now.', { exact: true }).first().waitFor()
    await reader.end()
    await page.getByText(/^The draft of phone is stored/).waitFor()
    const { body } = await portal.send('GET', `${policy}/document`)
    const phone = body.properties.rules.find((rule: { columnName: string }) => rule.columnName === 'phone')
    assert.deepEqual([phone.maskingFunction, phone.suffixSize, phone.replacementString], ['Text', '2', '~~~'])
  })

  clause(
    'SVC-157',
    'The overview counts databases that are Failed, Pending, or Off with rules, as those that need attention. A preview without masks in force says why, and names its masked side by what masks would show.',
    async () => {
      const exemptPrincipals = portal.administrator().id
      const turn = (dataMaskingState: string) =>
        portal.send('PUT', policy, { properties: { dataMaskingState, exemptPrincipals } })
      const customers = `${shopPage}/data?schema=public&table=customers`
      const role = await portal.shop().createRole('ledger', 'NOLOGIN')
      await portal.shop().database.sql.unsafe(`grant select on public.customers to "${role}"`)
      await turn('Disabled')
      await using opened = await portal.open(portal.administrator(), '/')
      const { page } = opened
      const attention = page.locator('.figure', { hasText: 'Need attention' })
      await attention.getByText('1', { exact: true }).waitFor()
      await attention.getByText('shop').waitFor()
      await page.getByRole('row', { name: /^shop Off / }).waitFor()

      await follow(page, customers)
      await page.getByText('Masking is turned off, so roles read raw values.').waitFor()
      const off = 'Masking is off: every role reads the raw values. This is what masks would show.'
      await page.getByText(off).waitFor()
      await page.getByText('raw → with masks').first().waitFor()
      await checkAccessible(page)
      await page.getByText('With masks', { exact: true }).click()
      await page.getByRole('columnheader', { name: 'email with masks' }).waitFor()
      await page.getByRole('button', { name: 'Edit the mask of city' }).click()
      await page.getByRole('columnheader', { name: 'city draft' }).waitFor()
      await page.goto(`${portal.service().origin}${customers}&role=${role}`)
      await page.getByText(`${role} sees raw values here: no mask holds for it.`).waitFor()
      await page
        .getByRole('region', { name: 'Preview' })
        .getByText(/@example\.com$/)
        .first()
        .waitFor()
      await page.getByText(/^Masking is off: every role reads the raw values\.\s*$/).waitFor()

      await turn('Enabled')
      await page.goto(portal.service().origin + customers)
      await page.getByText('raw → masked').first().waitFor()
      assert.equal(await page.getByText(off).count(), 0)
      await follow(page, '/')
      await attention.getByText('All in order').waitFor()
    },
  )

  clause(
    'SVC-160',
    'The overview and the list of databases count the roles that masks do not contain (MASK-288). People lists those…',
    async () => {
      const copier = await portal.shop().createRole('copier', 'LOGIN REPLICATION')
      const { id } = portal.administrator()
      for (const dataMaskingState of ['Disabled', 'Enabled'])
        await portal.send('PUT', policy, { properties: { dataMaskingState, exemptPrincipals: id } })
      await using opened = await portal.open(portal.administrator(), `${shopPage}/people`)
      const { page } = opened
      const list = page.getByRole('list', { name: 'Roles that masks do not contain' })
      await list.getByText(copier, { exact: true }).waitFor()
      await list.getByText(`ALTER ROLE "${copier}" NOREPLICATION;`).waitFor()
      await checkAccessible(page)

      await follow(page, '/')
      const figure = page.locator('.figure', { hasText: 'Not contained' })
      // The look after the first change may end behind the list above, and count none.
      const isCounted = () =>
        figure
          .getByText('shop')
          .waitFor({ timeout: 3_000 })
          .then(
            () => true,
            () => false,
          )
      await waitUntil('the overview counts it', async () => {
        await page.reload()
        return isCounted()
      })
      await page.getByRole('row', { name: /^shop Enforced \d+ [1-9]/ }).waitFor()

      await follow(page, `${shopPage}/rules`)
      const setting = page.getByRole('radiogroup', { name: 'Roles that masks would not contain' })
      await setting.getByRole('radio', { name: 'Refuse' }).click()
      const drawer = page.getByRole('dialog')
      await drawer
        .getByText(`${copier} would not be contained`)
        .or(drawer.getByText(/^\d+ more$/))
        .first()
        .waitFor()
      await checkAccessible(page)
      await drawer.getByRole('button', { name: 'Apply' }).click()
      await page.getByText('The setting was changed.').first().waitFor()
      const read = async () =>
        (await portal.send('GET', `${policy}/document?api-version=2026-11-01`)).body.properties.policy
      assert.equal((await read()).notContained, 'refuse')
      await portal.send('PUT', `${policy}/document?api-version=2026-11-01`, {
        properties: {
          policy: { ...(await read()), notContained: 'report' },
          rules: (await portal.send('GET', `${policy}/document`)).body.properties.rules,
        },
      })
      await portal.shop().database.sql.unsafe(`alter role "${copier}" noreplication`)
    },
  )

  test('recommendations are accepted in one change', async () => {
    await using opened = await portal.open(
      portal.administrator(),
      `${shopPage}/data?schema=public&table=cards`,
    )
    const { page } = opened
    await page.getByRole('button', { name: 'Look at them' }).click()
    const list = page.getByRole('dialog', { name: 'Recommendations' })
    await list.getByRole('checkbox', { name: 'public.staff.email' }).waitFor()
    await checkAccessible(page)
    await list.getByRole('button', { name: /^Review \d+ recommendation/ }).click()
    await page
      .getByRole('dialog', { name: /^Mask \d+ column/ })
      .getByRole('button', { name: 'Apply' })
      .click()
    await page
      .getByText(/masked now\.$/)
      .first()
      .waitFor()
    const { body } = await portal.send('GET', `${policy}/recommendations`)
    assert.deepEqual(body.value, [])
  })

  test('rules are filtered, removed, exported and imported with a difference', async () => {
    await using opened = await portal.open(portal.administrator(), `${shopPage}/rules?q=ssn`)
    const { page } = opened
    await page.getByRole('link', { name: 'public.customers.ssn' }).waitFor()
    await checkAccessible(page)
    const download = page.waitForEvent('download')
    await page.getByRole('button', { name: 'Export' }).click()
    assert.equal((await download).suggestedFilename(), 'shop-masking.json')
    const { body } = await portal.send('GET', `${policy}/document`)

    const box = page.getByRole('checkbox', { name: 'Select the rule customer-ssn' })
    await box.click()
    await page.waitForURL(/[?&]selected=customer-ssn/)
    await page.getByRole('link', { name: 'public.customers.ssn' }).click()
    await page.getByRole('heading', { level: 2, name: 'ssn' }).waitFor()
    await page.goBack()
    assert.ok(await box.isChecked(), 'the way back finds the rule selected')
    await page.getByRole('button', { name: 'Remove masks' }).click()
    await page
      .getByRole('dialog', { name: 'Remove 1 mask' })
      .getByRole('button', { name: 'Remove masks' })
      .click()
    await page.getByText('1 mask was removed.').first().waitFor()

    await page.getByRole('button', { name: 'Import' }).click()
    const text = JSON.stringify({ properties: body.properties }, null, 2)
    await page.getByLabel('Document (JSON)').fill(text.replace('"rules": [', '"rules" ['))
    await page.getByRole('button', { name: 'Compare' }).click()
    const line = text.split('\n').findIndex((one) => one.includes('"rules"')) + 1
    await page.getByText(new RegExp(`^Line ${line}, column`)).waitFor()
    await checkAccessible(page)
    await page.getByLabel('Document (JSON)').fill(text)
    await page.getByRole('button', { name: 'Compare' }).click()
    const drawer = page.getByRole('dialog', { name: 'Replace rules and policy' })
    await drawer.getByText('public.customers.ssn').waitFor()
    await drawer.getByRole('button', { name: 'Apply' }).click()
    await page.getByText('The document was applied.').first().waitFor()
    await page.getByRole('link', { name: 'public.customers.ssn' }).waitFor()
  })

  test('exposures have a remedy, and one that is closed goes', async () => {
    const { database, createRole } = portal.shop()
    const role = await createRole('reporter')
    await database.sql.unsafe(`create function public.peek() returns setof text language sql security definer
      as 'select email from public.customers'; revoke execute on function public.peek() from public;
      grant execute on function public.peek() to "${role}"`)
    await database.sql.unsafe(`create table public.newsletter (id int, email varchar(80));
      grant select on public.newsletter to "${role}"`)
    await using opened = await portal.open(portal.administrator(), `${shopPage}/exposures`)
    const { page } = opened
    const card = page.getByRole('article').filter({ hasText: role }).first()
    await card.getByRole('region', { name: 'What closes it' }).waitFor()
    await checkAccessible(page)
    await database.sql.unsafe(`drop function public.peek(); drop table public.newsletter`)
    await page.getByRole('button', { name: 'Look again' }).click()
    await card.waitFor({ state: 'detached' })
    const done = page.getByRole('list', { name: /^Done: / }).getByRole('listitem')
    await done.filter({ hasText: 'newsletter' }).getByText('gone').waitFor()
  })

  test('a person is mapped to a role, queries as themselves, and shows in the activity', async () => {
    const analyst = await addPerson(portal.service(), { displayName: 'Ana Analyst' })
    const { database, createRole } = portal.shop()
    const role = await createRole('readers', 'NOLOGIN')
    await database.sql.unsafe(`grant select on all tables in schema public to "${role}"`)
    await using opened = await portal.open(portal.administrator(), `${shopPage}/people`)
    const { page } = opened
    await page.getByRole('textbox', { name: 'Database role', exact: true }).fill(role)
    await page.getByLabel('Person or group', { exact: true }).fill(analyst.userPrincipalName)
    await page.getByRole('button', { name: 'Map a role' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Apply' }).click()
    await page.getByRole('row', { name: /Ana Analyst.*Masked values/ }).waitFor()
    await checkAccessible(page)

    await using own = await portal.open(analyst, `${shopPage}/query`)
    await own.page
      .getByRole('textbox', { name: 'SQL statement' })
      .fill('select id, email from customers order by id')
    await own.page.keyboard.press('Control+Enter')
    const results = own.page.getByRole('region', { name: 'Results' })
    await results
      .getByText(/^.XXX@XXXX\.com$/)
      .first()
      .waitFor()
    await results.getByLabel('masked').waitFor()
    await checkAccessible(own.page)

    await page.getByRole('link', { name: 'Activity' }).click()
    await page.getByRole('cell', { name: 'Logged in at the gateway' }).first().waitFor()
    await checkAccessible(page)
    await page.getByRole('radio', { name: 'Changes' }).click()
    await page.getByRole('cell', { name: 'Created role mapping' }).first().waitFor()
    assert.match(page.url(), /kind=change/)
  })

  test('a person without a role is told so by the query page', async () => {
    await using opened = await portal.open(portal.administrator(), `${shopPage}/query`)
    const { page, faults } = opened
    const editor = page.getByRole('textbox', { name: 'SQL statement' })
    const answered = page.waitForResponse((answer) => answer.url().includes('/tables/customers/columns'))
    await editor.click()
    await page.keyboard.type('select * from customers where ')
    await answered
    await page.keyboard.type('birth')
    await page.keyboard.press('Control+Space')
    await page.getByRole('option', { name: 'birth_date' }).waitFor()
    await page.keyboard.press('Escape')
    await page.keyboard.press('ControlOrMeta+a')
    await page.keyboard.type('select 1')
    await page.getByRole('button', { name: 'Run' }).click()
    await page.getByRole('heading', { name: 'No database role is mapped to you here' }).waitFor()
    // The browser itself writes a line about every answer of 403.
    assert.deepEqual(faults.splice(0), [
      'error: Failed to load resource: the server responded with a status of 403 (Forbidden)',
    ])
  })

  clause(
    'SVC-54',
    'The portal keeps statements in the browser for one person: they are removed when that person signs out, and when…',
    async () => {
      await using opened = await portal.visit()
      const { page, faults } = opened
      await page.goto(`${portal.service().origin}${shopPage}/query`)
      await signIn(page, portal.administrator())
      const kept = async () =>
        String(
          await page.evaluate('JSON.stringify({ ...localStorage }) + JSON.stringify({ ...sessionStorage })'),
        )
      const write = async (sql: string) => {
        await page.getByRole('textbox', { name: 'SQL statement' }).click()
        await page.keyboard.press('ControlOrMeta+a')
        await page.keyboard.type(sql)
      }
      await write('select 11')
      const answered = page.waitForResponse((answer) => answer.status() === 403)
      await page.getByRole('button', { name: 'Run' }).click()
      await answered
      await page.getByRole('heading', { name: 'No database role is mapped to you here' }).waitFor()
      // The browser itself writes a line about every answer of 403, and when it likes.
      await waitUntil('the line of the browser', () => faults.length > 0)
      assert.deepEqual(faults.splice(0), [
        'error: Failed to load resource: the server responded with a status of 403 (Forbidden)',
      ])
      assert.match(await kept(), /select 11/)
      await page.getByRole('button', { name: 'Forget all' }).click()
      assert.doesNotMatch(await kept(), /select 11/, 'neither history nor draft')
      for (const change of ["setItem('masquerade.person', 'another')", "removeItem('masquerade.person')"]) {
        await write('select 12')
        // In one step: the page is gone before a second one.
        await page.evaluate(`(() => {
          localStorage.${change}
          for (const one of document.querySelectorAll('button')) if (one.textContent === 'Run') one.click()
        })()`)
        await page.getByRole('heading', { name: 'You are signed out' }).waitFor()
        assert.doesNotMatch(await kept(), /select 12/, 'nothing for the person of another tab')
        await page.context().clearCookies()
        await page.reload()
        await signIn(page, portal.administrator())
      }
    },
  )

  test('tables beyond the first page are completed, and their columns', async () => {
    const { database } = portal.shop()
    await database.sql.unsafe(`create schema archive; do $$ begin for i in 1..501 loop
      execute format('create table archive.a_%s (id int)', lpad(i::text, 4, '0')); end loop; end $$`)
    try {
      await using opened = await portal.open(portal.administrator(), `${shopPage}/query`)
      const { page } = opened
      await page.getByRole('textbox', { name: 'SQL statement' }).click()
      await page.keyboard.press('ControlOrMeta+a')
      await page.keyboard.type('select * from custom')
      const answered = page.waitForResponse((answer) => answer.url().includes('/tables/customers/columns'))
      // By the mouse: the editor takes Enter for a new line in the first moment of a list.
      await page.getByRole('option', { name: 'customers' }).click()
      await page.keyboard.type(' where ')
      await answered
      await page.keyboard.type('birth')
      await page.getByRole('option', { name: 'birth_date' }).waitFor()
    } finally {
      await database.sql.unsafe('drop schema archive cascade')
    }
  })

  test('a reader sees masks and is told which role changes them', async () => {
    const reader = await addPerson(portal.service(), { displayName: 'Rita Reader' })
    await portal.send(
      'PUT',
      `${shopPath}/providers/Vendor.Authorization/roleAssignments/${crypto.randomUUID()}`,
      { properties: { principalId: reader.id, roleName: 'Reader' } },
    )
    await using opened = await portal.open(
      reader,
      `${shopPage}/data?schema=public&table=customers&column=email`,
    )
    const { page } = opened
    await page.getByText('Ask an administrator for the role SQL Security Manager.').waitFor()
    assert.equal(await page.getByRole('button', { name: 'Remove the mask' }).count(), 0)
    await page.getByRole('link', { name: /^Rules/ }).click()
    await page.getByRole('link', { name: 'public.customers.email' }).waitFor()
    assert.equal(await page.getByRole('button', { name: 'Import' }).count(), 0)
  })
})
