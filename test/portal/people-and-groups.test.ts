import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { before, describe, it } from 'node:test'
import { clause } from '../support/clause.ts'
import { fillDirectory, type TestDirectory } from '../support/directory.ts'
import { addPerson } from '../support/issuer.ts'
import { checkAccessible, skipReason, walk as test, usePortal } from '../support/portal.ts'
import { waitUntil } from '../support/wait-until.ts'

describe('people and groups in the portal', { skip: skipReason ?? false }, () => {
  const portal = usePortal()
  let directory: TestDirectory
  let inner: string
  let outer: string
  let ada: string

  before(async () => {
    directory = fillDirectory(portal.service())
    ada = await directory.user('ada.lovelace')
    inner = await directory.group({ displayName: 'Analysts' })
    outer = await directory.group({ displayName: 'Data readers' })
    await directory.join(ada, inner)
    await directory.join(inner, outer)
    const { database, tenantId } = portal.service()
    await database.sql`
      insert into directory_object (tenant_id, id, kind, properties)
      select ${tenantId}, gen_random_uuid(), 'user', jsonb_build_object('displayName', 'Crowd ' || lpad(n::text, 4, '0'),
        'userPrincipalName', 'crowd' || n || '@example.com', 'accountEnabled', true, 'userType', 'Member')
      from generate_series(1, 320) n`
  })

  test('lists people by pages, one request for each that is shown', async () => {
    await using opened = await portal.open(portal.administrator(), '/people')
    const { page } = opened
    const asked: string[] = []
    page.on('request', (request) => {
      if (request.url().includes('/v1.0/users?')) asked.push(decodeURIComponent(request.url()))
    })
    const answered = page.waitForResponse((answer) =>
      decodeURIComponent(answer.url()).includes('"displayName:crowd 00"'),
    )
    await page.getByRole('searchbox').pressSequentially('crowd 00')
    await answered
    assert.ok(asked.length < 'crowd 00'.length, `typing asked ${asked.length} times`)
    assert.match(asked.at(-1) ?? '', /\$search="displayName:crowd 00"/)
    assert.equal(new URL(page.url()).searchParams.get('q'), 'crowd 00')
    await page.getByRole('searchbox').fill('')
    await page.getByRole('link', { name: 'ada.lovelace' }).waitFor()
    assert.ok((await page.locator('tbody tr').count()) < 60, 'only rows in view are drawn')
    const before = asked.length
    const frame = page.getByRole('region', { name: 'People' })
    await frame.evaluate((element) => element.scrollTo(0, element.scrollHeight))
    await page
      .getByRole('link', { name: 'Crowd 0150' })
      .or(page.getByRole('link', { name: 'Crowd 0110' }))
      .first()
      .waitFor()
    assert.equal(asked.length - before, 1, 'the next page is one request')
    assert.match(asked.at(-1) ?? '', /\$skiptoken=/)
  })

  test('shows people without a violation of WCAG, in lists, forms and details', async () => {
    await using opened = await portal.open(portal.administrator(), '/people?q=ada')
    const { page } = opened
    await page.getByRole('link', { name: 'ada.lovelace' }).waitFor()
    await checkAccessible(page)
    await page.getByRole('link', { name: 'ada.lovelace' }).click()
    await page.getByRole('heading', { level: 1, name: 'ada.lovelace' }).waitFor()
    for (const tab of ['Rights', 'Applications', 'Sign-ins', 'Extensions', 'Groups']) {
      await page.getByRole('navigation', { name: 'ada.lovelace' }).getByRole('link', { name: tab }).click()
      await page.locator('.table, .empty').first().waitFor()
    }
    await page.getByText('Direct and inherited').click()
    await page.getByRole('link', { name: 'Data readers' }).waitFor()
    await checkAccessible(page)
  })

  test('disables and enables several people at once', async () => {
    await using opened = await portal.open(portal.administrator(), '/people?q=crowd%20030')
    const { page } = opened
    await page.getByRole('checkbox', { name: 'Crowd 0301' }).click()
    await page.getByRole('checkbox', { name: 'Crowd 0302' }).click()
    await page.getByText('2 people selected').waitFor()
    await page.waitForURL(/[?&]selected=[0-9a-f-]{36}(%2C|,)[0-9a-f-]{36}/)
    await page.getByRole('link', { name: 'Crowd 0303' }).click()
    await page.getByRole('heading', { level: 1, name: 'Crowd 0303' }).waitFor()
    await page.goBack()
    await page.getByText('2 people selected').waitFor()
    await page.reload()
    await page.getByText('2 people selected').waitFor()
    await page.getByRole('button', { name: 'Disable' }).click()
    const drawer = page.getByRole('dialog')
    await drawer.getByText('Their tokens and gateway sessions end at once.').waitFor()
    await checkAccessible(page)
    await drawer.getByRole('button', { name: 'Disable' }).click()
    await page.getByText('2 accounts are disabled').first().waitFor()
    await page.getByLabel('State').selectOption('disabled')
    await page.getByRole('link', { name: 'Crowd 0302' }).waitFor()
    await page.getByRole('link', { name: 'Crowd 0303' }).waitFor({ state: 'detached' })
  })

  it('creates, edits, deletes and restores a person', async () => {
    const name = `grace-${randomUUID().slice(0, 6)}`
    await using opened = await portal.open(portal.administrator(), '/people')
    const { page } = opened
    await page.getByRole('button', { name: 'New person' }).click()
    await page.getByLabel('Display name').fill('Grace Hopper')
    await page.getByRole('textbox', { name: 'Sign-in name' }).fill(`${name}@example.com`)
    await page.getByRole('button', { name: 'Create' }).click()
    const secret = await page.getByTestId('secret').textContent()
    assert.ok((secret ?? '').length >= 12)
    await checkAccessible(page)
    await page.getByRole('button', { name: 'I have kept it' }).click()
    await page.getByRole('heading', { level: 1, name: 'Grace Hopper' }).waitFor()
    await page.getByRole('button', { name: 'Edit' }).click()
    await page.getByLabel('Job title').fill('Rear admiral')
    await page.getByRole('dialog').getByText('Rear admiral').waitFor()
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByText('Rear admiral').first().waitFor()
    await page.getByRole('button', { name: 'Actions' }).click()
    await page.getByRole('menuitem', { name: 'Delete…' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click()
    await page.getByRole('heading', { level: 1, name: 'People' }).waitFor()
    await page.getByLabel('State').selectOption('deleted')
    await page.getByRole('button', { name: 'Restore' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Restore' }).click()
    await page.getByText('The person is restored').first().waitFor()
    const { body } = await portal
      .service()
      .request('GET', `/v1.0/users/${name}@example.com?$select=jobTitle`, {
        token: portal.service().tokenFor({ permissions: ['User.Read.All'] }),
      })
    assert.equal(body.jobTitle, 'Rear admiral')
  })

  clause(
    'DIR-295',
    '`POST /users/{id}/revokeSignInSessions` ends every sign-in of a user: access and refresh tokens, …',
    async () => {
      const person = await addPerson(portal.service(), { displayName: 'Alan Turing' })
      const token = portal.service().tokenFor({ principal: person.id, permissions: ['User.Read'] })
      const ask = async () => (await portal.service().request('GET', '/v1.0/me', { token })).status
      assert.equal(await ask(), 200)
      await using opened = await portal.open(portal.administrator(), `/people/${person.id}`)
      const { page } = opened
      await page.getByRole('button', { name: 'Actions' }).click()
      await page.getByRole('menuitem', { name: 'End all sign-ins…' }).click()
      await page.getByRole('button', { name: 'End sign-ins' }).click()
      await page.getByText('All sign-ins are ended').first().waitFor()
      await waitUntil('the token is refused', async () => (await ask()) === 401)
      await using again = await portal.open(person, '/people')
      await again.page.getByRole('button', { name: 'Account of Alan Turing' }).waitFor()
      const { sql } = portal.service().database
      const entries = await sql`select from audit_event where action = 'revoke sign-ins'`
      assert.equal(entries.count, 1)
    },
  )

  test('draws how a group is nested, and opens groups as asked', async () => {
    const outmost = await directory.group({ displayName: 'Everyone with data' })
    await directory.join(outer, outmost)
    await using opened = await portal.open(portal.administrator(), `/groups/${inner}?tab=nesting`)
    const { page } = opened
    await page.getByRole('link', { name: 'Data readers' }).waitFor()
    assert.equal(await page.getByText('Everyone with data').count(), 0, 'read when it is opened')
    await page.getByRole('button', { name: 'Show the groups that Data readers is in' }).click()
    await page.getByRole('link', { name: 'Everyone with data' }).waitFor()
    await checkAccessible(page)
  })

  test('explains by a chain why a person is in a group', async () => {
    await using opened = await portal.open(portal.administrator(), `/people/${ada}?tab=groups&show=all`)
    const { page } = opened
    await page
      .getByRole('row', { name: /Data readers/ })
      .getByRole('link', { name: 'Why?' })
      .click()
    await page.getByRole('heading', { name: 'ada.lovelace is a member of Data readers' }).waitFor()
    const chain = page.locator('.chain')
    assert.deepEqual(await chain.getByRole('link').allTextContents(), [
      'ALada.lovelace',
      'Analysts',
      'Data readers',
    ])
    await checkAccessible(page)
    await page.goto(`${portal.service().origin}/why?person=${portal.administrator().id}&group=${inner}`)
    await page.getByText('Neither directly nor through another group.').waitFor()
  })

  test('tells a person without a role which role would help', async () => {
    const person = await addPerson(portal.service(), { displayName: 'Nils Neumann' })
    await using opened = await portal.open(person, '/people?q=ada')
    const { page } = opened
    await page.getByText('Creating people needs the role Directory Writers.').waitFor()
    assert.equal(await page.getByRole('checkbox').count(), 0)
    await page.getByRole('link', { name: 'ada.lovelace' }).click()
    await page.getByText('Editing people needs the role Directory Writers.').waitFor()
    await page.getByRole('link', { name: 'Groups' }).first().click()
    await page.getByText('You may not see this').waitFor()
    await checkAccessible(page)
  })
})
