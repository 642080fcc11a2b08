import assert from 'node:assert/strict'
import { before, describe } from 'node:test'
import { clause } from '../support/clause.ts'
import { addPerson, type Person } from '../support/issuer.ts'
import {
  checkAccessible,
  shopPage,
  shopPath,
  signIn,
  skipReason,
  walk as test,
  usePortal,
} from '../support/portal.ts'
import { waitUntil } from '../support/wait-until.ts'

const policy = `${shopPath}/dataMaskingPolicies/Default`
const customers = `${shopPage}/data?schema=public&table=customers`

describe('the portal in a hurry, in bulk, and when a sign-in ends', { skip: skipReason ?? false }, () => {
  const portal = usePortal()
  let owner: Person

  before(async () => {
    owner = await addPerson(portal.service(), { displayName: 'Olga Owner' })
    const assignments = `${shopPath}/providers/Vendor.Authorization/roleAssignments`
    await portal.send('PUT', `${assignments}/${crypto.randomUUID()}`, {
      properties: { principalId: owner.id, roleName: 'Owner' },
    })
  })

  const listMasked = async (): Promise<string[]> => {
    const { body } = await portal.send('GET', `${policy}/document`)
    return body.properties.rules.map(({ columnName }: { columnName: string }) => columnName)
  }

  clause(
    'SVC-102',
    'Beside a preview without raw values, a person who may change the policy can exempt themselves, through the drawer of every change.',
    async () => {
      await using opened = await portal.open(owner, customers)
      const { page } = opened
      await page.getByText('You see what everyone else sees.').waitFor()
      await checkAccessible(page)
      await page.getByRole('button', { name: 'Exempt myself…' }).click()
      const drawer = page.getByRole('dialog', { name: 'Exempt Olga Owner' })
      await drawer.getByText('sees raw values').waitFor()
      assert.equal((await portal.send('GET', `${policy}/document`)).body.exemptions.length, 0)
      await drawer.getByRole('button', { name: 'Apply' }).click()
      await page.getByText('raw → masked').first().waitFor()
      await page
        .getByText(/@example\.com$/)
        .first()
        .waitFor()
    },
  )

  test('clicks in one moment all count', async () => {
    await using opened = await portal.open(owner, customers)
    const { page } = opened
    const boxes = page.getByRole('checkbox', { name: /^Select (city|since|phone)$/ })
    await boxes.nth(2).waitFor()
    await boxes.evaluateAll((all) => {
      for (const one of all) (one as unknown as { click(): void }).click()
    })
    await page.getByText('3 columns selected').waitFor()
    await page.waitForURL((url) => url.searchParams.get('columns')?.split(',').length === 3)
    await page.reload()
    await page.getByText('3 columns selected').waitFor()
  })

  test('a change right after another builds on it', async () => {
    await using opened = await portal.open(owner, `${customers}&column=city`)
    const { page } = opened
    const mask = async (column: string) => {
      await page.getByRole('button', { name: 'Mask this column' }).click()
      const drawer = page.getByRole('dialog', { name: `Mask ${column}` })
      await drawer.getByRole('region', { name: 'Statements' }).waitFor()
      await drawer.getByRole('button', { name: 'Apply' }).click()
      await drawer.waitFor({ state: 'detached' })
    }
    await page.getByRole('button', { name: 'Mask this column' }).waitFor()
    // The page does not learn the new document before the second change.
    const released = Promise.withResolvers<void>()
    await page.route('**/document?*', async (route) => {
      if (route.request().method() === 'GET') await released.promise
      await route.continue().catch(() => {})
    })
    await mask('city')
    await page.getByRole('button', { name: 'Edit the mask of since' }).click()
    await mask('since')
    released.resolve()
    const masked = await listMasked()
    assert.ok(masked.includes('city') && masked.includes('since'), masked.join())
  })

  test('the drawer says how many tables it did not look at', async () => {
    const { sql } = portal.shop().database
    await sql.unsafe(`create schema many; do $$ begin for i in 1..10 loop
      execute format('create table many.m_%s (note text)', i); end loop; end $$`)
    const { body } = await portal.send('GET', `${policy}/document`)
    const mask = { schemaName: 'many', columnName: 'note', maskingFunction: 'Default' }
    const added = Array.from({ length: 10 }, (_, at) => ({
      ...mask,
      name: `many-${at}`,
      tableName: `m_${at + 1}`,
    }))
    const properties = { ...body.properties, rules: [...body.properties.rules, ...added] }
    await portal.send('PUT', `${policy}/document`, { properties })
    await using opened = await portal.open(owner, `${shopPage}/rules?q=many`)
    const { page } = opened
    await page.getByRole('checkbox', { name: 'Select all rows' }).click()
    await page.getByRole('button', { name: 'Remove masks' }).click()
    const drawer = page.getByRole('dialog', { name: 'Remove 10 masks' })
    await drawer
      .getByText('Roles may gain raw values in 2 more tables that are not looked at here.')
      .waitFor()
    await checkAccessible(page)
    await drawer.getByRole('button', { name: 'Remove masks' }).click()
    await drawer.waitFor({ state: 'detached' })
    await sql.unsafe('drop schema many cascade')
  })

  test('the chart of the activity counts events that the list has not loaded', async () => {
    const { sql } = portal.service().database
    await sql`insert into audit_event (at, tenant_id, actor, action, target, after)
      select now() - make_interval(days => n % 20), tenant_id, '{"kind": "gateway", "objectId": "reporter"}',
        'gateway/touch', ${shopPath.toLowerCase()}, '{"role": "reporter", "statements": []}'
      from first_start, generate_series(1, 250) n`
    // A role at the database alone would hide entries from before there was this database.
    await using opened = await portal.open(portal.administrator(), `${shopPage}/activity?kind=touch`)
    const { page } = opened
    await page.getByText('250 entries about masked columns in the last 30 days').waitFor()
    await page.getByRole('button', { name: 'Export the 200 loaded as CSV' }).waitFor()
    const readChart = () => page.evaluate("document.querySelector('canvas')?.toDataURL()")
    await page.locator('canvas').waitFor()
    const light = await readChart()
    await page.emulateMedia({ colorScheme: 'dark' })
    await waitUntil('the chart in dark colours', async () => (await readChart()) !== light)
    await page.emulateMedia({ colorScheme: 'light' })
    await waitUntil('the chart in light colours', async () => (await readChart()) === light)
    await page.getByRole('radio', { name: 'Changes' }).click()
    await page.getByText(/^\d+ changes in the last 30 days$/).waitFor()
    await page.getByRole('cell', { name: 'Created rule' }).first().waitFor()
    assert.equal(await page.getByRole('cell', { name: 'Touched masked columns' }).count(), 0)
    await checkAccessible(page)
  })

  test('mistakes and limits are said at their fields', async () => {
    await using data = await portal.open(owner, `${customers}&column=last_name`)
    await data.page.getByLabel('Kept at start').fill('abc')
    await data.page.getByText('A whole number, such as 2').waitFor()
    assert.ok(await data.page.getByRole('button', { name: 'Mask this column' }).isDisabled())
    await checkAccessible(data.page)
    await using groups = await portal.open(portal.administrator(), '/groups')
    await groups.page.getByRole('button', { name: 'New group' }).click()
    const drawer = groups.page.getByRole('dialog', { name: 'New group' })
    await drawer.getByLabel('Name').fill('n'.repeat(300))
    await drawer.getByText('At most 256 characters; these are 300.').waitFor()
    await drawer.getByRole('button', { name: 'Create' }).click()
    assert.equal(await groups.page.evaluate('document.activeElement.value.length'), 300)
    await checkAccessible(groups.page)
  })

  test('an exemption that matches nothing says so wherever it speaks', async () => {
    await using opened = await portal.open(owner, `${shopPage}/people`)
    const { page } = opened
    const entry = 'x'.repeat(300)
    await page.getByLabel('Person, group or database role').fill(entry)
    await page.getByRole('button', { name: 'Add', exact: true }).click()
    const drawer = page.getByRole('dialog', { name: `Exempt ${entry}` })
    await drawer.getByText('exempts no one', { exact: true }).waitFor()
    await checkAccessible(page)
  })

  test('the audit fits a tablet, in words', async () => {
    await using opened = await portal.open(portal.administrator(), '/audit?tab=masking')
    const { page } = opened
    await page.setViewportSize({ width: 768, height: 900 })
    await page.getByRole('button', { name: 'Previewed a table' }).first().waitFor()
    const frame = "document.querySelector('.audit-list .table-frame')"
    assert.equal(await page.evaluate(`${frame}.scrollWidth - ${frame}.clientWidth`), 0)
    await checkAccessible(page)
  })

  clause(
    'SVC-103',
    'A person whose sign-in ends is told so on the page where they are, and loses nothing that they typed: after…',
    async () => {
      await using opened = await portal.visit()
      const { page, faults } = opened
      const { origin } = portal.service()
      // Each token ends within the time in which one is renewed.
      await page.route('**/oauth2/v2.0/token', async (route) => {
        const response = await route.fetch()
        const body = (await response.json()) as object
        await route.fulfill({ response, json: { ...body, ...('expires_in' in body && { expires_in: 60 }) } })
      })
      await page.goto(`${origin}${customers}&column=last_name`)
      await signIn(page, owner)
      await page.getByLabel('Filler').fill('~~~')
      // Sessions and refresh tokens end with the password that they came from.
      await portal.service().database.sql`
        update user_password set changed_at = greatest(clock_timestamp(), changed_at + interval '1 second') where user_id = ${owner.id}`
      await page.getByRole('button', { name: 'Mask this column' }).click()
      const ended = page.getByRole('dialog', { name: 'Your sign-in has ended' })
      const elsewhere = ended.getByRole('link', { name: 'Sign in in another tab' })
      await elsewhere.waitFor()
      await checkAccessible(page)
      const [other] = await Promise.all([page.context().waitForEvent('page'), elsewhere.click()])
      await signIn(other, owner)
      await other.locator('#content h1').waitFor()
      await other.close()
      await page.evaluate("dispatchEvent(new Event('focus'))")
      await ended.waitFor({ state: 'detached' })
      const drawer = page.getByRole('dialog', { name: 'Mask last_name' })
      await drawer.getByText('~~~').first().waitFor()
      await drawer.getByRole('button', { name: 'Apply' }).click()
      await page.getByText('last_name is masked now.', { exact: true }).first().waitFor()
      // The browser itself writes a line about every refusal.
      assert.match(faults.splice(0).join(), /^(error: Failed to load resource: .* (400|401) [^,]*,?)+$/)
    },
  )
})
