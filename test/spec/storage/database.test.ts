import assert from 'node:assert/strict'
import { it, test } from 'node:test'
import { inspect } from 'node:util'
import { connectDatabase } from '../../../src/db/connect.ts'
import { openDatabase } from '../../../src/db/database.ts'
import { translateConstraints, translateDatabaseError } from '../../../src/db/sqlstate.ts'
import { OperatorError } from '../../../src/kernel/operator-error.ts'
import { Problem } from '../../../src/kernel/problem.ts'
import { clause } from '../../support/clause.ts'
import { createTestDatabase, forEachCluster } from '../../support/postgres.ts'

/** Everything a careless logger could print. */
function everythingIn(error: unknown): string {
  return inspect(error, { depth: 9, showHidden: true, getters: true })
}

async function reject(promise: Promise<unknown>): Promise<unknown> {
  try {
    await promise
  } catch (error) {
    return error
  }
  return assert.fail('it did not fail')
}

translateConstraints({ guest_name_key: 'Conflict' })

forEachCluster((cluster) => {
  it('runs a deadlocked transaction again', async () => {
    await using testing = await createTestDatabase(cluster)
    const { sql, transaction } = testing.database
    await sql`create table account (id int primary key, value int not null)`
    await sql`insert into account values (1, 0), (2, 0)`
    let runs = 0
    let arrived = 0
    let open = () => {}
    const gate = new Promise<void>((resolve) => {
      open = resolve
    })
    const swap = (first: number, second: number) =>
      transaction(async (tx) => {
        runs++
        await tx`update account set value = value + 1 where id = ${first}`
        if (++arrived === 2) open()
        await gate
        await tx`update account set value = value + 1 where id = ${second}`
      })
    await Promise.all([swap(1, 2), swap(2, 1)])
    assert.ok(runs > 2, 'no deadlock came about')
    const rows = await sql`select value from account order by id`
    assert.deepEqual(rows, [{ value: 2 }, { value: 2 }])
  })

  it('turns a violated constraint into its problem and keeps the values out of it', async () => {
    await using testing = await createTestDatabase(cluster)
    const { sql, transaction } = testing.database
    await sql`create table guest (name text constraint guest_name_key unique)`
    const insert = () => transaction((tx) => tx`insert into guest values ('hidden-value')`)
    await insert()
    const error = await reject(insert())
    assert.ok(error instanceof Problem)
    assert.equal(error.problem, 'Conflict')
    assert.doesNotMatch(everythingIn(error), /hidden-value/)
  })

  it('keeps values out of other errors too', async () => {
    await using testing = await createTestDatabase(cluster)
    const { transaction } = testing.database
    const bad = await reject(transaction((tx) => tx`select ${'hidden-value'}::text::int`))
    assert.match(everythingIn(bad), /SQLSTATE 22P02/)
    assert.doesNotMatch(everythingIn(bad), /hidden-value/)
    const unknown = await reject(transaction((tx) => tx`select ${'hidden-value'} from nowhere`))
    assert.match(everythingIn(unknown), /relation "nowhere" does not exist/)
    assert.doesNotMatch(everythingIn(unknown), /hidden-value/)
  })

  it('answers DatabaseUnavailable when a session or statement is cut off', async () => {
    await using testing = await createTestDatabase(cluster)
    const cut = await reject(
      testing.database.transaction((tx) => tx`select pg_terminate_backend(pg_backend_pid())`),
    )
    assert.ok(cut instanceof Problem && cut.problem === 'DatabaseUnavailable', inspect(cut))
    const hasty = openDatabase({ url: testing.url, poolSize: 1, statementTimeoutMs: 50 })
    const late = await reject(hasty.transaction((tx) => tx`select pg_sleep(60)`))
    await hasty.close()
    assert.ok(late instanceof Problem && late.problem === 'DatabaseUnavailable', inspect(late))
  })

  clause(
    'SVC-125',
    "A request whose session the service's database ends is 503 and changes nothing, also where its transaction was idle for…",
    async () => {
      await using testing = await createTestDatabase(cluster)
      const { sql } = testing.database
      await sql`create table note (text text)`
      const hasty = openDatabase({ url: testing.url, poolSize: 1, idleInTransactionTimeoutMs: 50 })
      const late = await reject(
        hasty.transaction(async (tx) => {
          await tx`insert into note values ('first')`
          // The process stands still: it reads the server's word about the end as the answer to the next statement.
          Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1_000)
          await tx`insert into note values ('second')`
        }),
      )
      await hasty.close()
      assert.ok(late instanceof Problem && late.problem === 'DatabaseUnavailable', inspect(late))
      assert.deepEqual(await sql`select * from note`, [])
    },
  )

  it('runs nothing outside a transaction whose connection was lost between two statements', async () => {
    await using testing = await createTestDatabase(cluster)
    const { sql, transaction } = testing.database
    await sql`create table note (text text)`
    const error = await reject(
      transaction(async (tx) => {
        const [session] = await tx`select pg_backend_pid() as pid`
        await tx`insert into note values ('first')`
        await sql`select pg_terminate_backend(${session?.pid}, 5000)`
        await tx`insert into note values ('second')`.catch(() => {})
        await tx`insert into note values ('third')`
      }),
    )
    assert.ok(error instanceof Problem && error.problem === 'DatabaseUnavailable', inspect(error))
    assert.deepEqual(await sql`select * from note`, [])
  })

  it('does not commit when an error inside was swallowed', async () => {
    await using testing = await createTestDatabase(cluster)
    const { sql, transaction } = testing.database
    await sql`create table note (text text)`
    const swallowing = transaction(async (tx) => {
      await tx`insert into note values ('kept?')`
      await tx`select 1 / 0`.catch(() => {})
    })
    await assert.rejects(swallowing, /an error inside the transaction was caught, and undid it/)
    assert.deepEqual(await sql`select * from note`, [])
  })

  it('undoes a savepoint alone', async () => {
    await using testing = await createTestDatabase(cluster)
    const { sql, transaction } = testing.database
    await sql`create table note (text text)`
    await transaction(async (tx) => {
      await tx`insert into note values ('kept')`
      const inner = tx.savepoint(async () => {
        await tx`insert into note values ('undone')`
        await tx`select 1 / 0`
      })
      await inner.catch(() => {})
    })
    assert.deepEqual(await sql`select * from note`, [{ text: 'kept' }])
  })

  it('refuses a statement of a transaction that is over', async () => {
    await using testing = await createTestDatabase(cluster)
    const over = Promise.withResolvers<void>()
    let late: Promise<unknown> | undefined
    await testing.database.transaction(async (tx) => {
      late = over.promise.then(() => tx`select 1`)
    })
    over.resolve()
    await assert.rejects(late ?? Promise.resolve(), /the transaction is over/)
  })

  it('goes on with a statement prepared before a migration changed its columns', async () => {
    await using testing = await createTestDatabase(cluster)
    const single = openDatabase({ url: testing.url, poolSize: 1 })
    await single.sql`create table note (text text)`
    const read = () => single.sql`select * from note where text is distinct from ${'x'}`
    const readInTransaction = () =>
      single.transaction((tx) => tx`select note.* from note where text is distinct from ${'x'}`)
    await single.sql`insert into note values ('a')`
    await read()
    await readInTransaction()
    await testing.database.sql`alter table note add column size int`
    assert.deepEqual(await read(), [{ text: 'a', size: null }])
    await testing.database.sql`alter table note add column color text`
    assert.deepEqual(await readInTransaction(), [{ text: 'a', size: null, color: null }])
    await single.close()
  })

  it('reads int8 as an exact number, or as text where there is none', async () => {
    await using testing = await createTestDatabase(cluster)
    const [row] = await testing.database.sql`
      select 9007199254740991::int8 as safe, 9007199254740993::int8 as large, array[1, 2]::int8[] as list`
    assert.deepEqual(row, { safe: 9007199254740991, large: '9007199254740993', list: [1, 2] })
  })

  it('says in one line what is wrong with a database URL, without the password', async () => {
    await using testing = await createTestDatabase(cluster)
    const cases: [string, RegExp][] = [
      [testing.url.replace(/:[^:@/]*@/, ':s3cret@'), /the password is wrong$/],
      [testing.url.replace(/\/\/[^:]*:/, '//somebody:'), /the password is wrong$/],
      [testing.url.replace(/[^/]*$/, 'no_such_database'), /there is no such database$/],
      [testing.url.replace(/:\d+\//, ':1/'), /nothing listens there$/],
      [testing.url.replace('127.0.0.1', 'host.invalid'), /the host name (is unknown|cannot be looked up)/],
      [`${testing.url}?sslmode=verify-full`, /the server offers no TLS$/],
      ['postgres://u:s3cret@/d?host=/no/where', /there is no such socket$/],
    ]
    for (const [url, reason] of cases) {
      const error = await reject(connectDatabase({ url }))
      assert.ok(error instanceof OperatorError, inspect(error))
      assert.match(error.message, reason)
      assert.doesNotMatch(error.message, /\n/)
      const password = /:([^:@/]*)@/.exec(url)?.[1] ?? ''
      assert.ok(!everythingIn(error).includes(password), `the password is in the error of ${reason}`)
    }
  })
})

test('a connection that the server ends while it is checked fails its statement alone', async () => {
  await using testing = await createTestDatabase()
  const { sql } = testing.database
  const database = openDatabase({
    url: testing.url,
    poolSize: 1,
    check: async (own) => {
      const [row] = await own<{ pid: number }[]>`select pg_backend_pid() as pid`
      await sql`select pg_terminate_backend(${row?.pid ?? 0}, 10000)`
      // Meanwhile the last message of the ended connection comes, and no statement waits for it.
      for (let at = 0; at < 3; at++) await sql`select 1`
    },
  })
  try {
    await assert.rejects(database.sql`select 1`)
    await assert.rejects(database.transaction((tx) => tx`select 1`))
    assert.deepEqual([...(await sql`select 1 as one`)], [{ one: 1 }])
  } finally {
    await database.close()
  }
})

test('no connection is DatabaseUnavailable in a transaction and in a single statement', async () => {
  const nowhere = openDatabase({ url: 'postgres://u:s3cret@127.0.0.1:1/d' })
  const single = translateDatabaseError(await reject(nowhere.sql`select 1`))
  const whole = await reject(nowhere.transaction((tx) => tx`select 1`))
  await nowhere.close()
  for (const error of [single, whole]) {
    assert.ok(error instanceof Problem && error.problem === 'DatabaseUnavailable', inspect(error))
    assert.equal(error.retryAfterSeconds, 1)
    assert.doesNotMatch(everythingIn(error), /s3cret/)
  }
  const foreign = Object.assign(new Error('connect ECONNREFUSED'), {
    code: 'ECONNREFUSED',
    syscall: 'connect',
  })
  assert.equal(translateDatabaseError(foreign), foreign)
})

test('a constraint cannot be translated twice', () => {
  assert.throws(
    () => translateConstraints({ guest_name_key: 'Conflict' }),
    /guest_name_key is translated twice/,
  )
})
