import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { clause } from '../support/clause.ts'
import { fillDirectory } from '../support/directory.ts'
import { addPerson } from '../support/issuer.ts'
import { checkAccessible, follow, shopPage, signIn, skipReason, usePortal } from '../support/portal.ts'
import { createEmptyDatabase } from '../support/postgres.ts'
import { holdsFor } from '../support/wait-until.ts'

const isAll = process.env.MASQUERADE_TEST_ALL !== undefined

describe('the portal in a browser', { skip: skipReason ?? false }, () => {
  const portal = usePortal()

  clause(
    'SVC-32',
    'People sign in to the portal at the token service, by authorization code with PKCE.…',
    async () => {
      await using opened = await portal.visit()
      const { page } = opened
      await page.goto(`${portal.service().origin}/databases?q=shop`)
      await page.getByLabel('Password').waitFor()
      await checkAccessible(page)
      await signIn(page, portal.administrator())
      await page.getByRole('heading', { level: 1, name: 'Databases' }).waitFor()
      assert.equal(new URL(page.url()).search, '?q=shop')
      await page.getByRole('cell', { name: 'shop', exact: true }).waitFor()
      const kept = await page.evaluate(
        'JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie])',
      )
      assert.doesNotMatch(String(kept), /eyJ|refresh/, 'no token outlives the page')
    },
  )

  clause(
    'SVC-56',
    'In a browser that a person has used, the portal signs in again without leaving the page while the token service…',
    async () => {
      await using opened = await portal.visit()
      const { page } = opened
      const grants: (string | null)[] = []
      // The first token ends within the time in which one is renewed.
      await page.route('**/oauth2/v2.0/token', async (route) => {
        grants.push(new URLSearchParams(route.request().postData() ?? '').get('grant_type'))
        const response = await route.fetch()
        const body = (await response.json()) as object
        await route.fulfill({ response, json: grants.length === 1 ? { ...body, expires_in: 60 } : body })
      })
      const visited: string[] = []
      page.on('request', (request) => {
        if (request.isNavigationRequest()) visited.push(new URL(request.url()).pathname)
      })
      await page.goto(portal.service().origin)
      await signIn(page, portal.administrator())
      await page.getByText('Sessions now').waitFor()
      assert.deepEqual(grants, ['authorization_code', 'refresh_token'])
      visited.length = 0
      await page.goto(`${portal.service().origin}/databases?q=shop`)
      await page.getByRole('cell', { name: 'shop', exact: true }).waitFor()
      assert.deepEqual(visited, ['/databases'])
      assert.deepEqual(grants.slice(2), ['authorization_code'])
      await page.context().clearCookies()
      await page.reload()
      await page.getByLabel('Password').waitFor()
      assert.match(visited.at(-1) ?? '', /\/sign-in\//)
    },
  )

  clause(
    'SVC-92',
    'In a browser that a person has used, the portal draws its page for that person before the token service has answered…',
    async () => {
      const other = await addPerson(portal.service(), { displayName: 'Olga Other' })
      await using opened = await portal.visit()
      const { page } = opened
      await page.goto(`${portal.service().origin}/databases`)
      await signIn(page, portal.administrator())
      await page.getByRole('cell', { name: 'shop', exact: true }).waitFor()
      const answers = Promise.withResolvers<void>()
      await page.route('**/oauth2/v2.0/token', async (route) => {
        await answers.promise
        await route.continue()
      })
      const asked: string[] = []
      page.on('request', (request) => asked.push(new URL(request.url()).pathname))
      await page.reload()
      await page.getByRole('heading', { level: 1, name: 'Databases' }).waitFor()
      await page.getByRole('button', { name: /^Account of/ }).waitFor()
      const calls = () => asked.filter((path) => /^\/(v1\.0|providers|subscriptions)\b/.test(path))
      await holdsFor(300, 'no API is asked', () => calls().length === 0)
      answers.resolve()
      await page.getByRole('cell', { name: 'shop', exact: true }).waitFor()
      assert.ok(calls().length > 0)
      await page.unrouteAll()

      await page.context().clearCookies()
      await page.reload()
      await signIn(page, other)
      await page.getByRole('button', { name: 'Account of Olga Other' }).waitFor()
      // Claims of the person before, as another tab of this browser would have left them.
      await page.evaluate(`(() => {
        const claims = JSON.parse(localStorage.getItem('masquerade.claims'))
        localStorage.setItem('masquerade.claims', JSON.stringify({ ...claims, id: 'before', displayName: 'Bea Before' }))
        localStorage.setItem('masquerade.person', 'before')
        localStorage.setItem('masquerade.history /a', '[]')
      })()`)
      await page.reload()
      await page.getByRole('button', { name: 'Account of Olga Other' }).waitFor()
      assert.equal(await page.evaluate("localStorage.getItem('masquerade.history /a')"), null)
    },
  )

  clause(
    'SVC-54',
    'The portal keeps statements in the browser for one person: they are removed when…',
    async () => {
      await using opened = await portal.visit()
      const { page } = opened
      const kept = [
        'masquerade.history /a',
        'masquerade.exposures /a',
        'masquerade.counts',
        'masquerade.preferences',
      ]
      const write = `for (const key of ${JSON.stringify(kept)}) localStorage.setItem(key, '{}')`
      const read = async () => {
        const keys = (await page.evaluate('Object.keys(localStorage)')) as string[]
        return keys.filter((key) => kept.includes(key))
      }
      await page.goto(portal.service().origin)
      await page.getByLabel('Password').waitFor()
      await page.evaluate(`localStorage.setItem('masquerade.person', 'another'); ${write}`)
      await signIn(page, portal.administrator())
      await page.getByRole('button', { name: /^Account of/ }).waitFor()
      assert.ok(!(await read()).includes('masquerade.history /a'), 'nothing of the last person is left')
      await page.evaluate(write)
      const revocation = page.waitForRequest(/\/oauth2\/v2\.0\/revoke$/)
      await page.getByRole('button', { name: /^Account of/ }).click()
      await page.getByRole('menuitem', { name: 'Sign out' }).click()
      const revoked = new URLSearchParams((await revocation).postData() ?? '')
      await page.getByRole('button', { name: 'Sign out' }).click()
      await page.getByRole('heading', { name: 'You are signed out' }).waitFor()
      const { origin, tenantId } = portal.service()
      const refresh = await fetch(`${origin}/${tenantId}/oauth2/v2.0/token`, {
        method: 'POST',
        body: new URLSearchParams({
          grant_type: 'refresh_token',
          refresh_token: revoked.get('token') ?? '',
          client_id: revoked.get('client_id') ?? '',
        }),
      })
      assert.equal(((await refresh.json()) as { error: string }).error, 'invalid_grant', 'TOK-137')
      assert.deepEqual(await read(), ['masquerade.preferences'])
      await checkAccessible(page)
      await page.getByRole('button', { name: 'Sign in' }).click()
      await page.getByLabel('Password').waitFor()
    },
  )

  clause(
    'SVC-33',
    'The portal makes no request to another host, writes no error to the console…',
    async () => {
      const directory = fillDirectory(portal.service())
      const ada = await directory.user('ada.lovelace')
      const inner = await directory.group({ displayName: 'Analysts' })
      const outer = await directory.group({ displayName: 'Data readers' })
      await directory.join(ada, inner)
      await directory.join(inner, outer)
      await using opened = await portal.open(portal.administrator(), '/')
      const { page } = opened
      const person = (tab: string) => `/people/${ada}?tab=${tab}`
      const group = (tab: string) => `/groups/${inner}?tab=${tab}`
      const application = (tab: string) => `/applications/5b8e0f27-92d4-4c63-8a0b-e14d6f9c7a35?tab=${tab}`
      /** Each page with a text that it shows once it has read everything. */
      const pages: Readonly<Record<string, string | RegExp>> = {
        '/': 'Sessions now',
        '/welcome': 'Open the sample shop',
        '/databases': 'embedded',
        [`${shopPage}/data?schema=public&table=customers&column=email`]: /^.XXX@XXXX\.com$/,
        [`${shopPage}/data?schema=public&table=customers&columns=city,since`]: '2 columns selected',
        [`${shopPage}/rules`]: 'customer-ssn',
        [`${shopPage}/exposures`]: /What closes it|No way around the masks/,
        [`${shopPage}/people`]: 'Nobody is exempt',
        [`${shopPage}/activity`]: 'Last checked',
        [`${shopPage}/query`]: 'Run',
        '/people': 'ada.lovelace',
        '/people?state=deleted': 'Nothing was deleted',
        [person('profile')]: 'Object id',
        [person('groups')]: 'Analysts',
        [person('rights')]: 'No role, no database role and no exemption',
        [person('applications')]: 'No application',
        [person('signIns')]: 'No sign-in in the log',
        [person('extensions')]: 'No extension',
        '/groups': 'Data readers',
        [group('members')]: 'ada.lovelace',
        [group('owners')]: 'No owner',
        [group('nesting')]: 'Data readers',
        [group('rights')]: 'No role, no database role and no exemption',
        [`/why?person=${ada}&group=${outer}`]: 'ada.lovelace is a member of Data readers',
        '/credentials': 'No credential yet',
        '/applications': 'Masquerade portal',
        [application('overview')]: 'Token endpoint',
        [application('secrets')]: 'No secret',
        [application('permissions')]: 'Consent on behalf of people',
        [application('owners')]: 'No owner',
        [application('rights')]: 'No role, no database role and no exemption',
      }
      for (const [at, [address, text]] of Object.entries(pages).entries()) {
        await follow(page, address)
        await page.locator('#content').getByText(text).filter({ visible: true }).first().waitFor()
        await checkAccessible(page, isAll || at % 6 === 0)
      }
    },
  )

  test('a first visit offers the sample shop, and binds a database that answers', async () => {
    await using opened = await portal.open(portal.administrator(), '/')
    const { page, faults } = opened
    await page.getByRole('link', { name: 'First steps' }).click()
    await page.getByRole('link', { name: 'Open the sample shop' }).waitFor()
    const { hostname, port, username, password } = new URL(portal.shop().url)
    await using own = await createEmptyDatabase()
    for (const [label, value] of [
      ['Name', 'own'],
      ['Host', hostname],
      ['Port', port],
      ['Database on the server', 'nothing_of_this_name'],
      ['User', username],
      ['Password', decodeURIComponent(password)],
    ] as const)
      await page.getByLabel(label, { exact: true }).fill(value)
    await page.getByLabel('Encryption').selectOption('disable')
    await page.getByRole('button', { name: 'Bind a database' }).click()
    await page
      .getByRole('alert')
      .getByText(/there is no such database on the server/)
      .first()
      .waitFor()
    await checkAccessible(page)
    // The browser itself writes a line about every answer of 400.
    assert.match(faults.splice(0).join(), /^error: Failed to load resource: .* 400 /)
    const { hostname: host, port: at, pathname } = new URL(own.url)
    await page.getByLabel('Host', { exact: true }).fill(host)
    await page.getByLabel('Port', { exact: true }).fill(at)
    await page.getByLabel('Database on the server').fill(pathname.slice(1))
    await page.getByRole('button', { name: 'Bind a database' }).click()
    await page.getByRole('heading', { level: 1, name: 'own' }).waitFor()
    await page.getByText('This database has no table that can be masked').waitFor()
    // It ends with this test, and pages of the next ones would ask for it in vain.
    const [, , subscription, group, server] = new URL(page.url()).pathname.split('/')
    await page.close()
    await portal.send(
      'DELETE',
      `/subscriptions/${subscription}/resourceGroups/${group}/providers/Vendor.Sql/servers/${server}/databases/own`,
    )
  })

  test('goes anywhere by the keyboard alone', async () => {
    await using opened = await portal.open(portal.administrator(), '/')
    const { page } = opened
    await page.keyboard.press('Control+k')
    await page.getByRole('combobox').waitFor()
    await checkAccessible(page)
    await page.keyboard.type('datab')
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { level: 1, name: 'Databases' }).waitFor()
    await page.keyboard.press('Control+k')
    await page.keyboard.press('Escape')
    await page.getByRole('combobox').waitFor({ state: 'hidden' })
  })

  test('tells a person without a role what to ask for', async () => {
    const person = await addPerson(portal.service(), { displayName: 'Nils Neumann' })
    await using opened = await portal.open(person, '/')
    await opened.page.getByText('ask an administrator for the role Reader').waitFor()
    await checkAccessible(opened.page)
  })

  test('says so at an address that leads nowhere', async () => {
    await using opened = await portal.open(portal.administrator(), '/databases/nothing')
    await opened.page.getByRole('link', { name: 'Go to the overview' }).click()
    await opened.page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor()
  })

  test('remembers theme and density', async () => {
    await using opened = await portal.visit()
    const { page } = opened
    await page.goto(portal.service().origin)
    await signIn(page, portal.administrator())
    await page.getByRole('button', { name: /^Account of/ }).click()
    await page.getByRole('menuitemradio', { name: 'Dark' }).click()
    await page.getByRole('menuitemradio', { name: 'Compact' }).click()
    await page.reload()
    await page.locator('#content h1').waitFor()
    assert.deepEqual(await page.evaluate('({ ...document.documentElement.dataset })'), {
      theme: 'dark',
      density: 'compact',
    })
  })
})
