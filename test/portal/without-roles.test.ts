import assert from 'node:assert/strict'
import { before, describe } from 'node:test'
import type { Page } from 'playwright-core'
import { clause } from '../support/clause.ts'
import { fillDirectory } from '../support/directory.ts'
import { addPerson, type Person } from '../support/issuer.ts'
import {
  checkAccessible,
  follow,
  shopPage,
  shopPath,
  skipReason,
  walk as test,
  usePortal,
} from '../support/portal.ts'

const directoryHint = /Ask an administrator for the role Directory Readers\./

describe('the portal for people without roles', { skip: skipReason ?? false }, () => {
  const portal = usePortal()
  let analyst: Person
  let stranger: Person
  let readers: string
  let group: string

  before(async () => {
    const directory = fillDirectory(portal.service())
    await directory.add('user', {
      displayName: 'ada.lovelace',
      userPrincipalName: 'ada.lovelace@example.com',
      accountEnabled: true,
      jobTitle: 'Mathematician',
    })
    group = await directory.group({ displayName: 'Analysts' })
    analyst = await addPerson(portal.service(), { displayName: 'Noor Analyst', userType: 'Member' })
    stranger = await addPerson(portal.service(), { displayName: 'Nils Neumann', userType: 'Member' })
    await directory.join(analyst.id, group)
    readers = await portal.shop().createRole('readers', 'NOLOGIN')
    await portal
      .shop()
      .database.sql.unsafe(
        `grant usage on schema public to "${readers}"; grant select on all tables in schema public to "${readers}"`,
      )
    await portal.send('PUT', `${shopPath}/roleMappings/analysts`, {
      properties: { databaseRole: readers, principalId: group },
    })
  })

  const content = (page: Page) => page.locator('#content')

  clause(
    'SVC-158',
    'The portal shows a value that the reader may not read as unknown, with the role that would show it, and never…',
    async () => {
      await using opened = await portal.open(stranger, '/people?q=ada')
      const { page } = opened
      await page
        .getByRole('row', { name: /ada\.lovelace/ })
        .getByText('State unknown')
        .waitFor()
      await content(page).getByText(directoryHint).waitFor()
      assert.equal(await content(page).getByText('Disabled', { exact: true }).count(), 0)
      assert.equal(await page.getByRole('columnheader', { name: 'Job title' }).count(), 0)
      assert.equal(await page.getByLabel('State').count(), 0, 'a filter that the service would refuse')
      await checkAccessible(page)
      await page.getByRole('link', { name: 'ada.lovelace' }).click()
      await page.getByRole('heading', { level: 1, name: 'ada.lovelace' }).waitFor()
      await content(page).getByText('State unknown').waitFor()
      const factOf = (label: string) => page.locator('dt', { hasText: label }).locator('+ dd').textContent()
      for (const label of ['Job title', 'Department', 'Type', 'Created', 'Mobile phone'])
        assert.equal(await factOf(label), 'Unknown', label)
      assert.equal(await factOf('Given name'), '–', 'it may be read, and there is none')
      await content(page).getByText(directoryHint).waitFor()
      await checkAccessible(page)
      await follow(page, `/people/${stranger.id}`)
      await page.getByRole('heading', { level: 1, name: 'Nils Neumann' }).waitFor()
      await content(page).getByText('Enabled', { exact: true }).waitFor()
      assert.deepEqual([await factOf('Type'), await factOf('Job title')], ['Member', '–'])
      assert.equal(
        await content(page)
          .getByText(/unknown/i)
          .count(),
        0,
      )
      await follow(page, '/welcome')
      await content(page).getByText('No sample shop that you may see.').waitFor()
      await follow(page, '/')
      await content(page).getByText('No database that you may see or query').waitFor()

      await using other = await portal.open(portal.administrator(), '/people?q=ada')
      const row = other.page.getByRole('row', { name: /ada\.lovelace/ })
      await row.getByText('Enabled', { exact: true }).waitFor()
      await row.getByText('Mathematician').waitFor()
      assert.equal(await content(other.page).getByText(directoryHint).count(), 0)
    },
  )

  test('does not count what could not be read', async () => {
    await using opened = await portal.open(portal.administrator(), '/people')
    const { page, faults } = opened
    for (const path of ['**/exposures?*', '**/v1.0/users?*', '**/groups/*/memberOf/**'])
      await page.route(path, (route) => route.fulfill({ status: 503, json: {} }))
    await follow(page, '/')
    const figure = page.locator('.figure', { hasText: 'Open exposures' })
    await figure.getByText('Unknown: not every database answered').waitFor()
    await figure.getByText('–', { exact: true }).waitFor()
    await follow(page, '/why')
    const people = page.getByRole('group', { name: 'Person' })
    await people.getByRole('alert').waitFor()
    assert.equal(await people.getByText('Nothing was found').count(), 0)
    await follow(page, `/groups/${group}?tab=nesting`)
    await content(page).getByRole('alert').waitFor()
    assert.equal(await content(page).getByText('This group is in no other group').count(), 0)
    assert.match(faults.splice(0).join(), /503/)
  })

  clause(
    'SVC-159',
    'The overview lists the databases that the person may query, also without a masking role, with the mapped roles…',
    async () => {
      await using opened = await portal.open(analyst, '/')
      const { page } = opened
      const { port } = portal.service().gateway
      await page.getByRole('heading', { name: 'Databases that you may query' }).waitFor()
      const row = page.getByRole('row', { name: /shop/ })
      await row.getByText(readers).waitFor()
      assert.equal(await content(page).getByText('No database that you may see').count(), 0)
      const connect = page.locator('.card', { hasText: 'User name' })
      for (const fact of ['127.0.0.1', String(port), analyst.userPrincipalName])
        await connect.getByText(fact, { exact: true }).waitFor()
      await connect.getByText(`masquerade login --url ${portal.service().origin}`).waitFor()
      await connect.getByText(`masquerade psql --gateway 127.0.0.1:${port} shop`).waitFor()
      await connect.getByText('PGPASSWORD=$(masquerade login --token)').waitFor()
      await connect.getByRole('link', { name: 'New credential' }).waitFor()
      await checkAccessible(page, true)
      await row.getByRole('link', { name: 'Query' }).click()
      await page.waitForURL(`**${shopPage}/query`)
      await page.getByRole('textbox', { name: 'SQL statement' }).fill('select email from customers limit 1')
      await page.getByRole('button', { name: 'Run' }).click()
      await page
        .getByRole('region', { name: 'Results' })
        .getByText(/XXX@XXXX\.com/)
        .waitFor()
      await follow(page, '/databases')
      await page.getByRole('row', { name: /shop/ }).getByRole('link', { name: 'Query' }).waitFor()
      await checkAccessible(page)

      await using other = await portal.open(portal.administrator(), '/')
      await other.page.getByText('Sessions now').waitFor()
      assert.equal(await other.page.getByText('Databases that you may query').count(), 0)
    },
  )
})
