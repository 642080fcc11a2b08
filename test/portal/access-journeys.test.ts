import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { before, describe, it } from 'node:test'
import pg from 'pg'
import type { Page } from 'playwright-core'
import { scopeIn } from '../../portal/src/shell/search.ts'
import { clause } from '../support/clause.ts'
import { fillDirectory } from '../support/directory.ts'
import { findProgram } from '../support/find-program.ts'
import { addPerson, type Person } from '../support/issuer.ts'
import { ended } from '../support/people.ts'
import {
  checkAccessible,
  follow,
  shopPage,
  shopPath,
  skipReason,
  walk as test,
  usePortal,
} from '../support/portal.ts'
import { runProgram } from '../support/programs.ts'
import { waitUntil } from '../support/wait-until.ts'

describe('journeys through rights in the portal', { skip: skipReason ?? false }, () => {
  const portal = usePortal()
  let reader: Person
  let readers: string

  before(async () => {
    reader = await addPerson(portal.service(), { displayName: 'Rosa Reader', userType: 'Member' })
    readers = await portal.shop().createRole('readers', 'NOLOGIN')
    await portal
      .shop()
      .database.sql.unsafe(
        `grant usage on schema public to "${readers}"; grant select on all tables in schema public to "${readers}"`,
      )
  })

  /** A token of the person, as a program would have it. */
  const tokenOf = async ({ id }: Person) => {
    const token = portal.service().tokenFor({ principal: id, permissions: ['user_impersonation'] })
    await portal.service().tokens.settled()
    return token
  }

  const pick = async (page: Page, text: string, name: string) => {
    const dialog = page.getByRole('dialog')
    await dialog.getByRole('searchbox').fill(text)
    await dialog.getByRole('button', { name }).first().click()
  }

  const createGroup = async (page: Page, name: string) => {
    await page.getByRole('button', { name: 'New group' }).click()
    await page.getByRole('dialog').getByLabel('Name').fill(name)
    await page.getByRole('button', { name: 'Create' }).click()
    await page.getByRole('heading', { level: 1, name }).waitFor()
  }

  const addMember = async (page: Page, text: string, name: string) => {
    await page.getByRole('button', { name: 'Add members' }).click()
    await pick(page, text, name)
    await page.getByRole('dialog').getByRole('button', { name: 'Add', exact: true }).click()
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    await page.getByRole('link', { name }).waitFor()
  }

  it('a group is made, nested and mapped, and its member comes in by psql; once removed, the session ends', async () => {
    const name = `Shop readers ${randomUUID().slice(0, 6)}`
    await using opened = await portal.open(portal.administrator(), '/groups')
    const { page } = opened
    await createGroup(page, `${name} inside`)
    await addMember(page, 'Rosa', 'Rosa Reader')
    const inner = page.url()
    await page.getByRole('link', { name: 'Groups' }).first().click()
    await createGroup(page, name)
    await addMember(page, `${name} inside`, `${name} inside`)
    await follow(page, `${shopPage}/people`)
    await page.getByRole('textbox', { name: 'Database role', exact: true }).fill(readers)
    await page.getByRole('button', { name: 'Choose a person or group…' }).click()
    await page.getByRole('dialog').getByRole('searchbox').fill(name)
    await page
      .getByRole('dialog')
      .getByRole('button', { name: new RegExp(`^${name}$`) })
      .click()
    await page.getByRole('button', { name: 'Map a role' }).click()
    await page.getByRole('dialog').getByText('They log in at the gateway with their own account').waitFor()
    await page.getByRole('dialog').getByRole('button', { name: 'Apply' }).click()
    await page.getByRole('cell', { name: new RegExp(name) }).waitFor()
    const { port } = portal.service().gateway
    const token = await tokenOf(reader)
    const psql = findProgram('psql')
    const asReader = {
      PGHOST: '127.0.0.1',
      PGPORT: String(port),
      PGUSER: reader.userPrincipalName,
      PGPASSWORD: token,
      PGDATABASE: 'shop',
      PGSSLMODE: 'disable',
    }
    if (psql) {
      const { out, errors } = await runProgram(
        psql,
        ['-X', '-A', '-t', '-c', 'select email from public.customers limit 1'],
        asReader,
      )
      assert.match(out, /XXX/, errors)
    }
    const client = new pg.Client({
      host: '127.0.0.1',
      port,
      user: reader.userPrincipalName,
      password: token,
      database: 'shop',
    })
    await client.connect()
    const { rows } = await client.query('select email from public.customers limit 1')
    assert.match(rows[0].email, /XXX/)

    await page.goto(inner)
    await page
      .getByRole('row', { name: /Rosa Reader/ })
      .getByRole('button', { name: 'Remove' })
      .click()
    const drawer = page.getByRole('dialog')
    await drawer.getByText('One right came through this group:').waitFor()
    const over = ended(client, 10_000)
    await drawer.getByRole('button', { name: 'Remove' }).click()
    await page.getByText('Rosa Reader was removed').first().waitFor()
    await over

    await page.getByRole('link', { name: 'Audit' }).click()
    await page.getByRole('button', { name: 'Remove member' }).first().click()
    await page.getByRole('dialog').getByText(reader.id).first().waitFor()
    assert.ok(new URL(page.url()).searchParams.has('entry'), 'the entry can be sent as a link')
    await checkAccessible(page)
    await page.keyboard.press('Escape')
    await page.getByRole('link', { name: 'Masking and gateway' }).click()
    await waitUntil('the end of the session is in the audit', async () => {
      await page.reload()
      await page.getByRole('region', { name: 'Masking and gateway' }).waitFor()
      return (await page.getByRole('button', { name: 'Left the gateway' }).count()) > 0
    })
    await checkAccessible(page, true)
    const asked = page.waitForRequest((request) => /auditEvents.*action=disconn/.test(request.url()))
    await page.getByLabel('What').fill('disconn')
    await asked
    await page
      .getByRole('button', { name: 'Logged in at the gateway' })
      .first()
      .waitFor({ state: 'detached' })
    const named = page.waitForRequest((request) =>
      new RegExp(`auditEvents.*${reader.id}`).test(request.url()),
    )
    await page.getByLabel('Who').fill('rosa')
    await named
    await page.getByRole('button', { name: 'Left the gateway' }).first().waitFor()
    await page.getByLabel('Who').fill('no such name')
    await page.getByText('Nothing was found').waitFor()
  })

  test('the rights of a person lead to the chain behind each of them', async () => {
    const directory = fillDirectory(portal.service())
    const [inner, outer] = [
      await directory.group({ displayName: 'Fraud desk' }),
      await directory.group({ displayName: 'Raw readers' }),
    ]
    const person = await addPerson(portal.service(), { displayName: 'Frida Fraud' })
    await directory.join(person.id, inner)
    await directory.join(inner, outer)
    await portal.send('PUT', `${shopPath}/dataMaskingPolicies/Default`, {
      properties: { dataMaskingState: 'Enabled', exemptPrincipals: outer },
    })
    await using opened = await portal.open(portal.administrator(), '/people?q=frida')
    const { page } = opened
    await page.getByRole('link', { name: 'Frida Fraud' }).click()
    await page.getByRole('navigation', { name: 'Frida Fraud' }).getByRole('link', { name: 'Rights' }).click()
    await page
      .getByRole('row', { name: /Sees raw values.*Raw readers/ })
      .getByRole('link', { name: 'Why?' })
      .click()
    await page.getByRole('heading', { name: 'Frida Fraud is a member of Raw readers' }).waitFor()
    assert.deepEqual((await page.locator('.chain').getByRole('link').allTextContents()).slice(1), [
      'Fraud desk',
      'Raw readers',
    ])
  })

  test('an application is registered, granted a permission, and uses the secret that was shown once', async () => {
    const name = `Nightly export ${randomUUID().slice(0, 6)}`
    await using opened = await portal.open(portal.administrator(), '/applications')
    const { page } = opened
    await page.getByRole('cell', { name: /Masquerade portal/ }).waitFor()
    await checkAccessible(page)
    await page.getByRole('button', { name: 'Register application' }).click()
    await page.getByRole('dialog').getByLabel('Name').fill(name)
    await page.getByRole('dialog').getByRole('button', { name: 'Register' }).click()
    await page.getByRole('heading', { level: 1, name }).waitFor()
    const appId = new URL(page.url()).pathname.split('/').at(-1) ?? ''
    const tabs = page.getByRole('navigation', { name })
    await tabs.getByRole('link', { name: 'Permissions' }).click()
    await page.getByRole('button', { name: 'Grant permission' }).click()
    await page.getByRole('dialog').getByLabel('Permission').selectOption({ label: 'Group.Read.All' })
    await page.getByRole('dialog').getByRole('button', { name: 'Grant permission' }).click()
    const granted = page.getByRole('cell', { name: 'Group.Read.All', exact: true })
    await granted.waitFor()
    const undo = async (title: string, words: string) => {
      await page.getByRole('button', { name: 'Undo' }).last().click()
      const drawer = page.getByRole('dialog', { name: `Undo: ${title}` })
      await drawer.getByText(words).waitFor()
      await drawer.getByRole('button', { name: 'Undo' }).click()
      await drawer.waitFor({ state: 'detached' })
    }
    await undo(`Grant a permission to ${name}`, `${name} loses it`)
    await granted.waitFor({ state: 'detached' })
    await page.getByRole('button', { name: 'Grant permission' }).click()
    await page.getByRole('dialog').getByLabel('Permission').selectOption({ label: 'Group.Read.All' })
    await page.getByRole('dialog').getByRole('button', { name: 'Grant permission' }).click()
    await granted.waitFor()
    await page.getByRole('button', { name: 'Withdraw' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Withdraw' }).click()
    await granted.waitFor({ state: 'detached' })
    await undo('Withdraw Group.Read.All', `${name} gains it`)
    await granted.waitFor()
    // Takes its time, and the button goes after twelve seconds.
    await checkAccessible(page)

    const consent = async (permission: string) => {
      await page.getByRole('button', { name: 'Consent' }).click()
      await page.getByRole('dialog').getByLabel('Permission').selectOption({ label: permission })
      await page.getByRole('dialog').getByRole('button', { name: 'Consent' }).click()
    }
    const consented = (scope: string) => page.getByRole('cell', { name: scope, exact: true })
    await consent('User.Read.All')
    await consented('User.Read.All').waitFor()
    await consent('Group.Read.All')
    await consented('Group.Read.All User.Read.All').waitFor()
    await undo(`Consent to ${name} for everyone`, `${name} loses it`)
    await consented('User.Read.All').waitFor()
    await page
      .getByRole('row', { name: /User\.Read\.All/ })
      .getByRole('button', { name: 'Withdraw' })
      .click()
    await page.getByRole('dialog').getByRole('button', { name: 'Withdraw' }).click()
    await consented('User.Read.All').waitFor({ state: 'detached' })
    await undo('Withdraw User.Read.All', `${name} gains it for people who sign in`)
    await consented('User.Read.All').waitFor()
    await tabs.getByRole('link', { name: 'Secrets' }).click()
    await page.getByRole('button', { name: 'New secret' }).click()
    await page.getByLabel('What is it for?').fill('the night')
    await page.getByRole('dialog').getByRole('button', { name: 'New secret' }).click()
    const secret = (await page.getByTestId('secret').textContent()) ?? ''
    await page.getByRole('button', { name: 'I have kept it' }).click()
    await page.getByRole('cell', { name: 'the night' }).waitFor()
    assert.ok(!(await page.content()).includes(secret), 'the secret is shown once')
    const { origin, tenantId } = portal.service()
    const answer = await fetch(`${origin}/${tenantId}/oauth2/v2.0/token`, {
      method: 'POST',
      body: new URLSearchParams({
        grant_type: 'client_credentials',
        client_id: appId,
        client_secret: secret,
        scope: '.default',
      }),
    })
    const { access_token: token } = (await answer.json()) as { access_token: string }
    const groups = await portal.service().request('GET', '/v1.0/groups', { token })
    assert.equal(groups.status, 200)
    assert.equal((await portal.service().request('GET', '/v1.0/users', { token })).status, 403)
  })

  test('a credential for a tool is made, used, seen by an administrator and revoked', async () => {
    const person = await addPerson(portal.service(), { displayName: 'Cara Credential' })
    await portal.send('PUT', `${shopPath}/roleMappings/${randomUUID()}`, {
      properties: { databaseRole: readers, principalId: person.id },
    })
    await using opened = await portal.open(person, '/credentials')
    const { page, faults } = opened
    await page.getByText('No credential yet').waitFor()
    await page.getByText('Seeing the credentials of others needs the masking role Reader').waitFor()
    await page.getByRole('button', { name: 'New credential' }).click()
    const drawer = page.getByRole('dialog')
    const make = drawer.getByRole('button', { name: 'New credential' })
    await drawer.getByLabel('What is it for?').fill('Monthly report')
    await drawer.getByLabel('Your password').fill('a guess')
    await drawer.getByRole('alert').getByText('lower-case letters').waitFor()
    assert.ok(await make.isDisabled())
    await drawer.getByLabel('What is it for?').fill('monthly-report')
    await make.click()
    await drawer.locator('.notice').getByRole('strong').waitFor()
    // The browser itself writes a line about every answer of 400.
    assert.match(faults.splice(0).join(), /^error: Failed to load resource: .* 400 /)
    await checkAccessible(page)
    await drawer.getByLabel('Your password').fill(person.password)
    await make.click()
    const password = (await page.getByTestId('secret').textContent()) ?? ''
    const user = `${person.userPrincipalName}+monthly-report`
    await page.getByRole('dialog').getByText(user).waitFor()
    await checkAccessible(page)
    await page.getByRole('button', { name: 'I have kept it' }).click()
    await page.getByRole('cell', { name: user }).waitFor()
    assert.ok(!(await page.content()).includes(password), 'the password is shown once')
    await checkAccessible(page)
    const { port } = portal.service().gateway
    const client = new pg.Client({ host: '127.0.0.1', port, user, password, database: 'shop' })
    await client.connect()
    const { rows } = await client.query('select email from public.customers limit 1')
    assert.match(rows[0].email, /XXX/)

    await using looked = await portal.open(portal.administrator(), '/credentials?show=all')
    const row = looked.page.getByRole('row', { name: /monthly-report.*Cara Credential/ })
    await row.getByRole('button', { name: 'Revoke monthly-report' }).click()
    await looked.page.getByRole('dialog').getByText('its sessions end within two seconds').waitFor()
    await checkAccessible(looked.page)
    const over = ended(client, 10_000)
    await looked.page.getByRole('dialog').getByRole('button', { name: 'Revoke' }).click()
    await row.waitFor({ state: 'detached' })
    await over
  })

  test('roles are assigned and removed, in the directory and at a scope', async () => {
    await using opened = await portal.open(portal.administrator(), '/roles')
    const { page } = opened
    await page.getByRole('cell', { name: 'Global Administrator' }).first().waitFor()
    await page.getByRole('button', { name: 'Assign role' }).click()
    await page.getByRole('dialog').getByLabel('Role').selectOption({ label: 'Directory Readers' })
    await pick(page, 'Rosa', 'Rosa Reader')
    await page.getByRole('dialog').getByRole('button', { name: 'Assign role' }).click()
    const row = page.getByRole('row', { name: /Directory Readers.*Rosa Reader/ })
    await row.waitFor()
    await checkAccessible(page, true)
    await row.getByRole('button', { name: 'Remove' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Remove' }).click()
    await row.waitFor({ state: 'detached' })
    await page.getByRole('link', { name: 'Masking roles' }).click()
    await page.getByLabel('Where').selectOption({ label: 'demo / demo / embedded / shop' })
    await page.getByRole('button', { name: 'Assign role' }).click()
    await pick(page, 'Rosa', 'Rosa Reader')
    await page.getByRole('dialog').getByRole('button', { name: 'Assign role' }).click()
    await page.getByRole('row', { name: /Reader.*Rosa Reader.*shop/ }).waitFor()
    await checkAccessible(page, true)
  })

  clause(
    'SVC-42',
    'A link leads requests of the portal to no other place than the page shows: a `scope` in the address that is not …',
    async () => {
      const detours = [
        `${shopPath}${'/..'.repeat(10)}`,
        `${shopPath}${'/%2e%2E'.repeat(10)}`,
        `${shopPath}${'\\..'.repeat(10)}`,
        `/providers/Vendor.Authorization/roleAssignments/${randomUUID()}?at=${shopPath}`,
        `/providers/Vendor.Authorization/roleAssignments/${randomUUID()}#${shopPath}`,
      ]
      for (const scope of detours) assert.deepEqual(scopeIn({ scope }), { scope: undefined })
      for (const end of [2, 4, 8, 10].map((count) => count + 1)) {
        const scope = shopPath.split('/').slice(0, end).join('/')
        assert.deepEqual(scopeIn({ scope }), { scope })
      }
      const link = `/roles?tab=masking&scope=${encodeURIComponent(detours[0] ?? '')}`
      await using opened = await portal.open(portal.administrator(), link)
      const { page } = opened
      await page.getByRole('button', { name: 'Assign role' }).click()
      await pick(page, 'Rosa', 'Rosa Reader')
      const dialog = page.getByRole('dialog')
      await dialog.getByText('Everywhere').waitFor()
      assert.equal(await dialog.getByText('embedded').count(), 0, 'the page says where the role counts')
    },
  )

  clause(
    'SVC-40',
    '`GET /providers/Vendor.Sql/service` tells callers with a masking role that reads everything how the node runs: …',
    async () => {
      const { body } = await portal.send('GET', '/providers/Vendor.Sql/service')
      assert.equal(body.store.state, 'ready')
      assert.equal(body.signingKeys.filter((key: { signsNow: boolean }) => key.signsNow).length, 1)
      const settings = new Map<string, { value: string | null; origin: string }>(
        body.settings.map((setting: { name: string }) => [setting.name, setting]),
      )
      assert.equal(settings.get('MASQUERADE_AUDIT_SECONDS')?.origin, 'environment')
      assert.equal(settings.get('MASQUERADE_AUDIT_SECONDS')?.value, '3600')
      assert.equal(settings.get('MASQUERADE_HOST')?.origin, 'default')
      assert.equal(settings.get('MASQUERADE_DATABASE_URL')?.value, null, 'a secret has no value')
      const token = await tokenOf(reader)
      const path = '/providers/Vendor.Sql/service?api-version=2014-04-01'
      assert.equal((await portal.service().request('GET', path, { token })).status, 403)
      await using opened = await portal.open(portal.administrator(), '/system')
      await opened.page.getByRole('cell', { name: 'Signs now' }).waitFor()
      await opened.page.getByRole('cell', { name: 'MASQUERADE_AUDIT_SECONDS' }).waitFor()
      await checkAccessible(opened.page, true)
    },
  )

  clause(
    'SVC-44',
    'Each node reports to the others every ten seconds, and `GET /providers/Vendor.Sql/service` lists the nodes…',
    async () => {
      const { sql } = portal.service().database
      const seen = { killed: randomUUID(), running: randomUUID() }
      await sql`insert into node (id, host_name, version, started_at, seen_at, gateway_sessions) values
        (${seen.killed}, 'killed', '1', now(), now() - interval '31 seconds', 0),
        (${seen.running}, 'running', '1', now() - interval '1 hour', now() - interval '9 seconds', 7)`
      const list = async () => (await portal.send('GET', '/providers/Vendor.Sql/service')).body.nodes
      const [other, own, ...more] = await list()
      assert.deepEqual(more, [])
      assert.deepEqual([other.hostName, other.gatewaySessions, other.answers], ['running', 7, false])
      assert.equal(own.answers, true)
      await waitUntil(
        'the node has reported',
        async () => (await sql`select from node where id = ${own.id}`).count === 1,
      )
      await using opened = await portal.open(portal.administrator(), '/system')
      await opened.page.getByRole('row', { name: /running/ }).waitFor()
      await opened.page.getByRole('row', { name: /Answers you/ }).waitFor()
      await sql`delete from node where id = any(${Object.values(seen)}::uuid[])`
    },
  )

  test('owners of an application are added and removed, and deleted groups and applications restored', async () => {
    const name = `Report ${randomUUID().slice(0, 6)}`
    await using opened = await portal.open(portal.administrator(), '/applications?new=1')
    const { page } = opened
    await page.getByRole('dialog').getByLabel('Name').fill(name)
    await page.getByRole('dialog').getByRole('button', { name: 'Register' }).click()
    await page.getByRole('heading', { level: 1, name }).waitFor()
    await page.getByRole('navigation', { name }).getByRole('link', { name: 'Owners' }).click()
    await page.getByRole('button', { name: 'Add owners' }).click()
    await pick(page, 'Rosa', 'Rosa Reader')
    await page.getByRole('dialog').getByRole('button', { name: 'Add', exact: true }).click()
    const row = page.getByRole('row', { name: /Rosa Reader/ })
    await row.getByRole('button', { name: 'Remove' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Remove' }).click()
    await row.waitFor({ state: 'detached' })
    const restore = async (kind: string) => {
      await page.getByRole('button', { name: 'Actions' }).click()
      await page.getByRole('menuitem', { name: 'Delete…' }).click()
      await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click()
      await page.getByLabel('State').selectOption('deleted')
      await page
        .getByRole('row', { name: new RegExp(name) })
        .getByRole('button', { name: 'Restore' })
        .click()
      await page.getByRole('dialog').getByRole('button', { name: 'Restore' }).click()
      await page.getByText(`The ${kind} is restored`).first().waitFor()
      await page.getByLabel('State').selectOption('all')
      await page.getByRole('link', { name }).waitFor()
    }
    await restore('application')
    await page.getByRole('link', { name: 'Groups' }).first().click()
    await createGroup(page, name)
    await restore('group')
  })

  test('a person without rights walks through everything and meets no dead end', async () => {
    const person = await addPerson(portal.service(), { displayName: 'Nora Nobody' })
    await using opened = await portal.open(person, '/')
    const { page } = opened
    const places = await page
      .getByRole('navigation', { name: 'Main' })
      .first()
      .getByRole('link')
      .allTextContents()
    for (const place of places) {
      await page.getByRole('navigation', { name: 'Main' }).first().getByRole('link', { name: place }).click()
      await page.getByRole('heading', { level: 1, name: place }).waitFor()
      const words = page
        .locator('#content')
        .getByText(/Ask an administrator|ask an administrator|needs the role|masking role/)
      await words.first().waitFor()
    }
    await page.getByRole('navigation', { name: 'Main' }).first().getByRole('link', { name: 'People' }).click()
    await page.getByRole('link', { name: 'Rosa Reader' }).click()
    for (const tab of ['Groups', 'Rights', 'Sign-ins']) {
      await page.getByRole('navigation', { name: 'Rosa Reader' }).getByRole('link', { name: tab }).click()
      await page.getByText('Ask an administrator for the role').waitFor()
    }
    await checkAccessible(page)
  })
})
