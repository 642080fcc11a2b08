import assert from 'node:assert/strict'
import { after, before, describe } from 'node:test'
import * as oidc from 'openid-client'
import { setPassword } from '../../../src/directory/accounts/password.ts'
import { takeAttempt } from '../../../src/issuer/sign-in-throttle.ts'
import { Browser } from '../../support/browser.ts'
import { clause } from '../../support/clause.ts'
import { addApplication, addPerson, type Person, trustService } from '../../support/issuer.ts'
import { startTestService, type TestService } from '../../support/service.ts'
import { beginSignIn, redirectUri, signIn, singlePage } from '../../support/sign-in.ts'
import { waitUntil } from '../../support/wait-until.ts'

const client = 'https://client.example'

describe('signing in', () => {
  let service: TestService
  let appId: string

  before(async () => {
    service = await startTestService()
    trustService(service)
    const consented = ['openid', 'offline_access', 'User.Read']
    appId = (await addApplication(service, { properties: singlePage, consented })).appId
  })
  after(() => service[Symbol.asyncDispose]())
  // Failures of one test must not be held against the next: they all come from the same address.
  const forgetAttempts = () => service.database.sql`delete from sign_in_attempt`

  const openSignIn = async () => {
    const browser = new Browser(client)
    const { url, exchange, config } = await beginSignIn(service, appId, 'openid offline_access User.Read')
    return { browser, page: await browser.open(url), exchange, config }
  }
  const attempt = async (userPrincipalName: string, password: string) => {
    const { browser, page } = await openSignIn()
    return browser.submit(page, { user: userPrincipalName, password })
  }

  clause(
    'TOK-109',
    'A sign-in or consent goes on in the browser alone that sent the form. A person who was given the cookies of another…',
    async () => {
      await forgetAttempts()
      const person = await addPerson(service)
      const { browser: attacker, page } = await openSignIn()
      const misled = new Browser(client)
      misled.cookies.push(...attacker.cookies)
      const next = await misled.submitOnly(page, {
        user: person.userPrincipalName,
        password: person.password,
      })
      const known = [...misled.cookies].filter(({ name }) => !name.startsWith('masquerade_signed_in'))
      for (const cookies of [attacker.cookies, known]) {
        const other = new Browser(client)
        other.cookies.push(...cookies)
        const refused = await other.open(next)
        assert.equal(refused.status, 400)
        assert.match(refused.html, /This sign-in has expired/)
        assert.equal(
          other.cookies.some(({ name }) => name === 'masquerade_session'),
          false,
        )
      }
      assert.equal((await misled.open(next)).url.origin, client, 'the browser of the person goes on')
    },
  )

  clause('TOK-109', 'A sign-in or consent goes on in the browser alone that sent the form…', async () => {
    await forgetAttempts()
    const person = await addPerson(service)
    const { browser, page } = await openSignIn()
    const early = new URL(
      `/${service.tenantId}/oauth2/v2.0/authorize/${page.url.pathname.split('/').at(-1)}`,
      page.url,
    )
    const refused = await browser.open(early)
    assert.equal(refused.url.href, early.href)
    assert.equal(refused.status, 400, 'no form was sent')
    const next = await browser.submitOnly(page, {
      user: person.userPrincipalName,
      password: person.password,
    })
    assert.equal(next.href, early.href, 'it was the address that goes on')
    assert.equal((await browser.open(next)).url.origin, client)
  })

  clause(
    'TOK-130',
    'TOK-109 holds for the sign-in that the signed cookie names, whatever the address names. Where the two name different sign-ins, the answer is 400 and no session begins.',
    async () => {
      await forgetAttempts()
      const person = await addPerson(service)
      const own = await addPerson(service)
      const { browser: attacker, page } = await openSignIn()
      const misled = new Browser(client)
      misled.cookies.push(...attacker.cookies.filter(({ name }) => name.startsWith('masquerade_sign_in')))
      const next = await misled.submitOnly(page, {
        user: person.userPrincipalName,
        password: person.password,
      })
      // A sign-in of the attacker's own, whose mark this browser has.
      const second = await openSignIn()
      const ownNext = await second.browser.submitOnly(second.page, {
        user: own.userPrincipalName,
        password: own.password,
      })
      const marks = second.browser.cookies.filter(({ name }) => name.startsWith('masquerade_signed_in'))
      assert.equal(marks.length, 1)
      const common = new URL('/common/oauth2/v2.0/', next)
      const addresses: [URL, number][] = [
        [new URL('authorize/aaaaaaaaaaaa', common), 400],
        [new URL('device/aaaaaaaaaaaa', common), 400],
        [next, 400],
        [ownNext, 400],
        [new URL(`${next}/`), 404],
        [new URL(next.href.replace('/authorize/', '/Authorize/')), 404],
        [new URL(next.href.replace('/authorize/', '/authorize//')), 404],
        [new URL('authorize/short', common), 404],
      ]
      for (const [address, status] of addresses) {
        const other = new Browser(client)
        // Sent by hand, cookies go to any address.
        other.cookies.push(...[...attacker.cookies, ...marks].map((cookie) => ({ ...cookie, path: '/' })))
        const refused = await other.open(address)
        assert.equal(refused.url.href, address.href)
        assert.equal(refused.status, status, address.href)
        assert.equal(
          other.cookies.some(({ name }) => name === 'masquerade_session'),
          false,
          address.href,
        )
      }
      misled.cookies.push(...attacker.cookies)
      assert.equal((await misled.open(next)).url.origin, client, 'the browser of the person goes on')
      assert.equal((await second.browser.open(ownNext)).url.origin, client)
    },
  )

  clause(
    'TOK-39',
    'Unknown, disabled and deleted people, people without a password and wrong passwords get one and the same answer.',
    async () => {
      await forgetAttempts()
      const person = await addPerson(service)
      const disabled = await addPerson(service, { accountEnabled: false })
      const deleted = await addPerson(service)
      const without = await addPerson(service)
      await service.database.sql`update directory_object set deleted_at = now() where id = ${deleted.id}`
      await service.database.sql`delete from user_password where user_id = ${without.id}`
      const attempts: [string, string][] = [
        [person.userPrincipalName, 'Something else 1'],
        [person.userPrincipalName, ''],
        ['nobody@example.com', person.password],
        [disabled.userPrincipalName, disabled.password],
        [deleted.userPrincipalName, deleted.password],
        [without.userPrincipalName, without.password],
        ["' or '1'='1", person.password],
        [`${person.userPrincipalName}\0`, 'x'],
        ['', ''],
        ['a'.repeat(400), 'b'.repeat(2000)],
      ]
      const answers = new Set<string>()
      for (const [name, password] of attempts) {
        const page = await attempt(name, password)
        assert.equal(page.status, 401, name)
        assert.equal(page.html.includes(password) && password !== '' && password !== 'x', false)
        const neutral = page.html.replace(/value="[^"]*"/g, '').replace(/action="[^"]*"/g, '')
        answers.add(neutral)
      }
      assert.equal(answers.size, 1)
      assert.equal(
        (await attempt(person.userPrincipalName.toUpperCase(), person.password)).url.origin,
        client,
      )
    },
  )

  clause(
    'TOK-40',
    'After five failures from one network an account has to wait there, known or not, with 429 and `Retry-After`; the wait doubles with each further one, up to five minutes, and a success ends the count. Other networks do not wait.',
    async () => {
      const person = await addPerson(service)
      for (const name of ['nobody-at-all@example.com', person.userPrincipalName]) {
        await forgetAttempts()
        const statuses: number[] = []
        for (let count = 0; count < 6; count++)
          statuses.push((await attempt(name, 'Something else 1')).status)
        assert.deepEqual(statuses, [401, 401, 401, 401, 401, 429])
        const page = await attempt(name.toUpperCase(), person.password)
        assert.equal(page.status, 429)
        assert.match(page.headers.get('retry-after') ?? '', /^[1-9]\d*$/)
        assert.match(page.html, /Too many attempts/)
      }
      const elsewhere = { account: person.userPrincipalName, address: '192.0.2.7' }
      assert.equal(await takeAttempt(service.database.sql, elsewhere), 0)
      await service.database.sql`update sign_in_attempt set blocked_until = now()`
      await service.database.sql`delete from sign_in_attempt where failures < 5`
      const count = async () =>
        (await service.database.sql`select 1 from sign_in_attempt where failures >= 5`).length
      const before = await count()
      assert.equal((await attempt(person.userPrincipalName, person.password)).url.origin, client)
      assert.equal(await count(), before - 1, 'the success ended its own count, and no other')
    },
  )

  clause(
    'TOK-75',
    'Spellings of one userPrincipalName, in other case or with spaces around it, share the count of…',
    async () => {
      await forgetAttempts()
      const person = await addPerson(service)
      const { userPrincipalName: name } = person
      const spellings = [name, name.toUpperCase(), ` ${name}`, `${name}\t`, `  ${name.toUpperCase()} `]
      for (const spelling of spellings)
        assert.equal((await attempt(spelling, 'Something else 1')).status, 401, JSON.stringify(spelling))
      for (const spelling of spellings)
        assert.equal((await attempt(spelling, person.password)).status, 429, JSON.stringify(spelling))
      await forgetAttempts()
    },
  )

  clause(
    'TOK-84',
    'Failures to sign in to one account are also counted from all networks together. After a hundred, one attempt in five…',
    async () => {
      await forgetAttempts()
      const { sql } = service.database
      const { userPrincipalName: account } = await addPerson(service)
      const from = (network: number) => ({ account, address: `198.51.${network >> 8}.${network & 255}` })
      for (let count = 0; count < 100; count++)
        assert.equal(await takeAttempt(sql, from(Math.floor(count / 4))), 0)
      for (let count = 0; count < 8; count++) {
        const wait = await takeAttempt(sql, from(900))
        assert.ok(wait > 0 && wait <= 5, `${wait} seconds`)
      }
      const passTime = () =>
        sql`update sign_in_attempt set blocked_until = blocked_until - interval '5 seconds'`
      for (let count = 0; count < 10; count++) {
        await passTime()
        assert.equal(await takeAttempt(sql, from(1000 + count)), 0, 'one in five seconds is heard')
        assert.ok((await takeAttempt(sql, from(2000 + count))) <= 5, 'the wait does not grow')
      }
      await passTime()
      // The attempts that were not heard have not used up the network's own.
      for (let count = 0; count < 5; count++) {
        await passTime()
        assert.equal(await takeAttempt(sql, from(900)), 0)
      }
      assert.equal(await takeAttempt(sql, { account: 'another@example.com', address: '198.51.3.132' }), 0)
      await forgetAttempts()
    },
  )

  clause(
    'TOK-85',
    'A browser in which a person has signed in to an account before, in the last 90 days, has a count of its own for that…',
    async () => {
      await forgetAttempts()
      const [person, other] = [await addPerson(service), await addPerson(service)]
      const again = async (browser: Browser, { userPrincipalName, password }: Person) => {
        // Without the session: it would sign in by itself.
        const session = browser.cookies.findIndex(({ name }) => name.startsWith('masquerade_session'))
        if (session >= 0) browser.cookies.splice(session, 1)
        const { url } = await beginSignIn(service, appId, 'openid offline_access User.Read')
        return browser.submit(await browser.open(url), { user: userPrincipalName, password })
      }
      const browser = new Browser(client)
      assert.equal((await again(browser, person)).url.origin, client)
      const known = browser.cookies.filter(({ name }) => name.startsWith('masquerade_known_'))
      assert.equal(known.length, 1)
      assert.equal(JSON.stringify(known).includes(person.userPrincipalName), false)

      // A stranger behind the same address uses up the attempts of the account and of the network.
      const wrong = 'Something else 1'
      for (let count = 0; count < 60; count++) {
        const [address, account] = ['127.0.0.1', person.userPrincipalName]
        await takeAttempt(service.database.sql, { address, account: count < 6 ? account : `x-${count}` })
      }
      assert.equal((await attempt(person.userPrincipalName, person.password)).status, 429, 'a new browser')
      const mine = await again(browser, {
        ...person,
        userPrincipalName: person.userPrincipalName.toUpperCase(),
      })
      assert.equal(mine.url.origin, client, 'the known one')
      assert.equal((await again(browser, other)).status, 429, 'it is known for one account alone')
      const [cookie] = known
      assert.ok(cookie)
      const forged = new Browser(client)
      const [id, expiry, proof] = cookie.value.split('.')
      forged.cookies.push({ ...cookie, value: [id, Number(expiry) + 1, proof].join('.') })
      assert.equal((await again(forged, person)).status, 429, 'a proof of another time')

      const statuses: number[] = []
      for (let count = 0; count < 6; count++)
        statuses.push((await again(browser, { ...person, password: wrong })).status)
      assert.deepEqual(statuses, [401, 401, 401, 401, 401, 429], 'its own failures count')
      await forgetAttempts()
    },
  )

  clause(
    'TOK-106',
    'A new password ends what browsers had from sign-ins before it: they share the counts of TOK-40, TOK-42 and TOK-84 …',
    async () => {
      await forgetAttempts()
      const person = await addPerson(service)
      const old = Array.from({ length: 3 }, () => new Browser(client))
      const again = async (browser: Browser, password: string) => {
        const session = browser.cookies.findIndex(({ name }) => name.startsWith('masquerade_session'))
        if (session >= 0) browser.cookies.splice(session, 1)
        const { url } = await beginSignIn(service, appId, 'openid offline_access User.Read')
        return browser.submit(await browser.open(url), { user: person.userPrincipalName, password })
      }
      for (const browser of old) assert.equal((await again(browser, person.password)).url.origin, client)
      const next = `${person.password} anew`
      await setPassword(service.database.sql, service.tenantId, person.id, next)
      const statuses: number[] = []
      for (let count = 0; count < 6; count++)
        statuses.push((await again(old[count % 3] ?? new Browser(client), person.password)).status)
      assert.deepEqual(
        statuses,
        [401, 401, 401, 401, 401, 429],
        'old browsers share the guesses of the network',
      )
      await forgetAttempts()
      const mine = new Browser(client)
      assert.equal((await again(mine, next)).url.origin, client)
      for (let count = 0; count < 6; count++) await attempt(person.userPrincipalName, 'Something else 1')
      assert.equal((await attempt(person.userPrincipalName, next)).status, 429)
      assert.equal(
        (await again(mine, next)).url.origin,
        client,
        'a sign-in with the new one counts by itself',
      )
      await forgetAttempts()
    },
  )

  clause('TOK-41', 'Attempts that are sent at once are counted one by one.', async () => {
    await forgetAttempts()
    const person = await addPerson(service)
    const pages = await Promise.all(
      Array.from({ length: 12 }, () => attempt(person.userPrincipalName, 'Something else 1')),
    )
    assert.ok(pages.filter(({ status }) => status === 401).length <= 5)
  })

  clause(
    'TOK-42',
    'An address has to wait after fifty failures; addresses of one IPv6 network count as one.',
    async () => {
      await forgetAttempts()
      const { sql } = service.database
      // A line of IPv6 is counted as one address, and IPv4 inside IPv6 as itself.
      const neighbours = ['2001:db8:1:2::1', '2001:db8:1:2:ffff::9', '2001:DB8:1:2:3:4:5:6']
      for (const addresses of [['127.0.0.1', '::ffff:127.0.0.1'], neighbours]) {
        for (let count = 0; count < 50; count++) {
          const address = addresses[count % addresses.length] ?? ''
          assert.equal(await takeAttempt(sql, { account: `person-${count}`, address }), 0)
        }
        for (const address of addresses) assert.ok((await takeAttempt(sql, { address })) > 0)
      }
      assert.equal(await takeAttempt(sql, { address: '2001:db8:1:3::1' }), 0)
      assert.equal((await attempt('somebody-else@example.com', 'Something else 1')).status, 429)
      await forgetAttempts()
    },
  )

  clause(
    'TOK-43',
    'A form without its token, from another site, or of another sign-in does nothing.',
    async () => {
      await forgetAttempts()
      const person = await addPerson(service)
      const fields = { user: person.userPrincipalName, password: person.password }
      const one = await openSignIn()
      assert.equal((await one.browser.submit(one.page, { ...fields, token: '' })).status, 400)
      assert.equal((await one.browser.submit(one.page, { ...fields, token: 'x'.repeat(43) })).status, 400)
      const crossSite = await one.browser.submit(one.page, fields, { 'sec-fetch-site': 'cross-site' })
      assert.equal(crossSite.status, 400)
      const other = await openSignIn()
      assert.equal((await other.browser.submit(one.page, fields)).status, 400)
      const stranger = new Browser(client)
      assert.equal((await stranger.submit(one.page, fields)).status, 400)
      assert.equal((await one.browser.submit(one.page, fields)).url.origin, client)
    },
  )

  clause(
    'TOK-34',
    'A code is sent to a registered address, letter by letter, and nowhere else.',
    async () => {
      const hostile = [
        'https://client.example/callback/',
        'https://client.example/callback?x=1',
        'https://client.example/callback#x',
        'https://client.example/Callback',
        'https://client.example:8443/callback',
        'http://client.example/callback',
        'https://client.example.evil.example/callback',
        'https://client.example@evil.example/callback',
        'https://evil.example/callback',
        '//evil.example/callback',
        'javascript:alert(1)',
        '',
      ]
      for (const uri of hostile) {
        const { url } = await beginSignIn(service, appId, 'openid', { redirect_uri: uri })
        const response = await fetch(url, { redirect: 'manual' })
        assert.equal(response.status, 400, uri)
        assert.equal(response.headers.get('location'), null, uri)
        assert.doesNotMatch(await response.text(), /evil\.example|<script/)
      }
      const { url } = await beginSignIn(service, appId, 'openid', {
        redirect_uri: redirectUri,
        state: '"><script>alert(1)</script>',
      })
      assert.equal((await fetch(url, { redirect: 'manual' })).status, 303)
    },
  )

  clause(
    'TOK-36',
    'Registered addresses that are unsafe to redirect to (scripts, fragments, `http` to another…',
    async () => {
      const bad = [
        'javascript:alert(1)',
        'not a uri',
        'http://client.example/',
        'https://x.example/#y',
        'app:/x',
        7,
      ]
      const registered = { web: { redirectUris: [...bad, redirectUri] } }
      const application = await addApplication(service, { properties: registered })
      const statusFor = async (uri: string) => {
        const { url } = await beginSignIn(service, application.appId, 'openid', { redirect_uri: uri })
        return (await fetch(url, { redirect: 'manual' })).status
      }
      assert.equal(await statusFor(redirectUri), 303)
      for (const uri of bad) assert.equal(await statusFor(String(uri)), 400, String(uri))
    },
  )

  clause('TOK-38', 'An unknown client is a page with 400, whatever its id looks like.', async () => {
    for (const id of ['\0', "x'; drop table instance; --", '../..', 'a'.repeat(2_000), '%s']) {
      const url = new URL(`${service.auth.identity.origin()}/common/oauth2/v2.0/authorize`)
      url.search = new URLSearchParams({
        client_id: id,
        response_type: 'code',
        redirect_uri: redirectUri,
      }).toString()
      const response = await fetch(url, { redirect: 'manual' })
      assert.equal(response.status, 400)
      assert.match(await response.text(), /client/)
    }
  })

  clause('TOK-37', 'Signing out leads to registered addresses only.', async () => {
    const url = new URL(`${service.auth.identity.origin()}/${service.tenantId}/oauth2/v2.0/logout`)
    url.searchParams.set('client_id', appId)
    url.searchParams.set('post_logout_redirect_uri', 'https://evil.example/')
    const response = await fetch(url, { redirect: 'manual' })
    assert.equal(response.status, 400)
    assert.equal(response.headers.get('location'), null)
  })

  clause('TOK-35', 'A native application may use any port of its registered loopback address.', async () => {
    const native = {
      isFallbackPublicClient: true,
      publicClient: { redirectUris: ['http://localhost/done', 'http://127.0.0.1/done'] },
    }
    const { appId: nativeId } = await addApplication(service, { properties: native })
    const statusFor = async (uri: string) => {
      const { url } = await beginSignIn(service, nativeId, 'openid', { redirect_uri: uri })
      return (await fetch(url, { redirect: 'manual' })).status
    }
    for (const uri of ['http://localhost:54321/done', 'http://127.0.0.1:1/done', 'http://localhost/done'])
      assert.equal(await statusFor(uri), 303, uri)
    for (const uri of ['http://localhost:1/other', 'http://10.0.0.1:1/done', 'https://localhost:1/done'])
      assert.equal(await statusFor(uri), 400, uri)
  })

  clause(
    'TOK-45',
    'A person whose password has to be changed chooses another before the sign-in goes on.',
    async () => {
      await forgetAttempts()
      const person = await addPerson(service, {}, true)
      const { browser, page, exchange } = await openSignIn()
      const change = await signIn(browser, page, person)
      assert.match(change.html, /Choose a new password/)
      const weak = { password: person.password, next: 'short', again: 'short' }
      assert.equal((await browser.submit(change, weak)).status, 400)
      const unequal = {
        password: person.password,
        next: 'A long new password 1',
        again: 'Another new password 1',
      }
      assert.equal((await browser.submit(change, unequal)).status, 400)
      const wrong = { password: 'not it', next: 'A long new password 1', again: 'A long new password 1' }
      assert.equal((await browser.submit(change, wrong)).status, 401)
      const right = { ...wrong, password: person.password }
      const tokens = await exchange(await browser.submit(change, right))
      assert.equal(tokens.claims()?.oid, person.id)
      assert.equal((await attempt(person.userPrincipalName, person.password)).status, 401)
      assert.equal((await attempt(person.userPrincipalName, 'A long new password 1')).url.origin, client)
    },
  )

  const loseAccess: [string, (person: Person) => Promise<unknown>][] = [
    [
      'disabled',
      ({ id }) => service.database.sql`
        update directory_object set properties = properties || '{"accountEnabled":false}' where id = ${id}`,
    ],
    [
      'deleted',
      ({ id }) => service.database.sql`update directory_object set deleted_at = now() where id = ${id}`,
    ],
    [
      'given another password',
      async ({ id }) => {
        await setPassword(service.database.sql, service.tenantId, id, 'Quite another 1 password')
        // As if time had passed: tokens know whole seconds only.
        await service.database.sql`
          update user_password set changed_at = now() + interval '2 seconds' where user_id = ${id}`
      },
    ],
  ]
  for (const [what, lose] of loseAccess)
    clause(
      'TOK-46',
      'A person who was disabled or deleted, or whose password was changed, loses their sessions…',
      async (t) => {
        t.diagnostic(what)
        await forgetAttempts()
        const person = await addPerson(service)
        const { browser, page, exchange, config } = await openSignIn()
        const tokens = await exchange(await signIn(browser, page, person))
        const { url } = await beginSignIn(service, appId, 'openid User.Read')
        assert.equal((await browser.open(url)).url.origin, client)
        await lose(person)
        await assert.rejects(oidc.refreshTokenGrant(config, tokens.refresh_token ?? ''), {
          error: 'invalid_grant',
        })
        const again = await browser.open((await beginSignIn(service, appId, 'openid User.Read')).url)
        assert.equal(again.status, 200)
        assert.match(again.html, /<label for="password">/)
      },
    )

  const signInAgain = async (person: Person) => {
    const { browser, page, exchange, config } = await openSignIn()
    return { config, tokens: await exchange(await signIn(browser, page, person)) }
  }
  const refused = { error: 'invalid_grant' }
  /** Changes the password, and commits after `meanwhile` has been begun and waits for a lock. */
  const changeAround = async <T>(id: string, password: string, meanwhile: () => Promise<T>) => {
    const { sql } = service.database
    let begun: Promise<T> | undefined
    await service.database.transaction(async (tx) => {
      await setPassword(tx, service.tenantId, id, password)
      begun = meanwhile()
      await waitUntil('the change is waited for', async () => {
        const waiting = await sql`
          select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`
        return waiting.count > 0
      })
    })
    return begun ?? assert.fail()
  }

  clause(
    'TOK-79',
    'A change of the password ends every sign-in with an earlier one, also of the same second, and one…',
    async () => {
      await forgetAttempts()
      const person = await addPerson(service)
      const { tokens, config } = await signInAgain(person)
      const second = 'Second long password 2'
      await setPassword(service.database.sql, service.tenantId, person.id, second)
      await assert.rejects(oidc.refreshTokenGrant(config, tokens.refresh_token ?? ''), refused)
      const renewed = await signInAgain({ ...person, password: second })
      const third = 'Third long password 3'
      await setPassword(service.database.sql, service.tenantId, person.id, third)
      const rejected = oidc.refreshTokenGrant(config, renewed.tokens.refresh_token ?? '')
      await assert.rejects(rejected, refused, 'three passwords in one second')
      const last = await signInAgain({ ...person, password: third })
      assert.ok((await oidc.refreshTokenGrant(config, last.tokens.refresh_token ?? '')).access_token)

      const { browser, page } = await openSignIn()
      const onward = await browser.submitOnly(page, { user: person.userPrincipalName, password: third })
      await setPassword(service.database.sql, service.tenantId, person.id, second)
      const later = await browser.open(onward)
      assert.match(later.html, /<label for="password">/, 'a browser that goes on later is asked again')
    },
  )

  clause(
    'TOK-80',
    'A sign-in or a change of the password that is checked while another change is under way waits for it,…',
    async () => {
      await forgetAttempts()
      const person = await addPerson(service)
      const next = 'Quite another 1 password'
      const page = await changeAround(person.id, next, () =>
        attempt(person.userPrincipalName, person.password),
      )
      assert.equal(page.status, 401)
      const token = service.tokenFor({ permissions: ['User.ReadWrite'], principal: person.id })
      const body = { currentPassword: next, newPassword: 'The old password wins 1' }
      const late = await changeAround(person.id, person.password, () =>
        service.request('POST', '/v1.0/me/changePassword', { token, body }),
      )
      assert.equal(late.status, 400, late.text)
      assert.equal((await attempt(person.userPrincipalName, body.newPassword)).status, 401)
      assert.equal((await attempt(person.userPrincipalName, person.password)).url.origin, client)
    },
  )
})
