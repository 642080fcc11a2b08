import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { after, before, describe } from 'node:test'
import { fileURLToPath } from 'node:url'
import { clause } from '../../support/clause.ts'
import { runProgram } from '../../support/programs.ts'
import { openRental, type Rental } from '../../support/rental/open.ts'

const script = fileURLToPath(new URL('../../support/rental/psycopg.py', import.meta.url))
const python = ['python3', '/usr/bin/python3'].find(
  (each) => spawnSync(each, ['-c', 'import psycopg2']).status === 0,
)
const mail = 'sXXX@XXXX.com'

describe('psycopg2', { skip: python === undefined && 'Python with psycopg2 is not installed' }, () => {
  let rental: Rental
  before(async () => {
    rental = await openRental()
  })
  after(() => rental?.[Symbol.asyncDispose]())

  for (const sslmode of ['disable', 'require'])
    clause(
      'GATE-58',
      'psycopg2 runs unchanged: values of every type, cursors of the server, `executemany`, COPY both ways, transactions, large…',
      async () => {
        await rental.target.database.sql.unsafe('truncate public.ledger')
        const { code, out, errors } = await runProgram(
          python ?? '',
          [script, `${rental.url}?sslmode=${sslmode}`],
          {},
        )
        assert.equal(code, 0, errors)
        assert.deepEqual(JSON.parse(out), expected)
      },
    )
})

const row = {
  id: '3',
  store_id: '2',
  first_name: 'Dan',
  last_name: 'E***',
  full_name: 'Da~s',
  email: mail,
  card: 'XXXX-XXXX-XXXX-0219',
  born: '1900-01-01',
  tags: '[]',
  preferences: '{}',
  external_id: '00000000-0000-0000-0000-000000000000',
  address_id: '4',
  active: 'True',
}

const expected = {
  types: {
    row,
    kinds: {
      ...Object.fromEntries(Object.keys(row).map((name) => [name, 'str'])),
      id: 'int',
      store_id: 'int',
      born: 'date',
      loyalty: 'int',
      tags: 'list',
      preferences: 'dict',
      external_id: 'UUID',
      address_id: 'int',
      active: 'bool',
      created: 'datetime',
    },
    staff: ['00', 'XXX-XX-1101', true],
  },
  named_cursors: {
    cards: 3000,
    raw: [],
    seen: [
      [
        [1, mail],
        [3, mail],
      ],
      [42, mail],
      [41, mail],
    ],
  },
  many: {
    returned: 300,
    notes: [
      [mail, 47],
      ['v', 300],
      [null, 3],
    ],
  },
  copy: {
    lines: [`1\t${mail}\tXXXX-XXXX-XXXX-0073`, `2\t${mail}\tXXXX-XXXX-XXXX-0146`],
    count: 300,
    csv: 'id,phone\n1,+49…38\n2,+49…57\n3,+49…76\n',
    binary: ['PGCOPY', 20],
    rows: 2,
  },
  transactions: { denied: ['42501', '42501'], position: true, email: mail },
  large_objects: { whole: true, end: 'fdfeff', at: 1048576, short: '0001020304', gone: true },
  notifications: [['returns', 'film 7']],
  cancel: { cancelled: true, email: mail },
  asynchronous: mail,
}
