import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { after, before, describe } from 'node:test'
import { fileURLToPath } from 'node:url'
import { clause } from '../../support/clause.ts'
import { runProgram } from '../../support/programs.ts'
import { openRental, type Rental } from '../../support/rental/open.ts'

const program = fileURLToPath(new URL('../../support/rental/Jdbc.java', import.meta.url))
const driver = '/usr/share/java/postgresql.jar'
const hasJava = spawnSync('java', ['--list-modules'], { encoding: 'utf8' }).stdout?.includes('jdk.compiler')
const missing = !(hasJava && existsSync(driver)) && 'a JDK and the JDBC driver are not installed'

describe('the JDBC driver', { skip: missing }, () => {
  let rental: Rental
  before(async () => {
    rental = await openRental()
  })
  after(() => rental?.[Symbol.asyncDispose]())

  clause(
    'GATE-59',
    'The JDBC driver runs unchanged in each of its query modes: prepared statements that turn binary, portals, batches, generated…',
    async () => {
      const { username, password, host, pathname } = new URL(rental.url)
      const { code, out, errors } = await runProgram(
        'java',
        [
          '-XX:TieredStopAtLevel=1',
          '-cp',
          driver,
          program,
          `jdbc:postgresql://${host}${pathname}?sslmode=disable`,
          username,
          password,
        ],
        {},
      )
      assert.equal(code, 0, errors)
      assert.deepEqual(out.trimEnd().split('\n'), expected)
    },
  )
})

const mail = 'sXXX@XXXX.com'
const modes = ['simple', 'extended', 'extendedForPrepared', 'extendedCacheEverything']

const expected = [
  ...modes.flatMap((mode) => [
    `read ${mode}\t${mail}\t1900-01-01\t00000000-0000-0000-0000-000000000000\t{}\t{}`,
    `several ${mode}\tXXXX-XXXX-XXXX-0219\tfalse\t0`,
  ]),
  `prepared\t[5 ${mail} XXXX-XXXX-XXXX-0365 1900-01-01 7 00000000-0000-0000-0000-000000000000 {} true]\ttrue`,
  'binary\t2.99\tXXXX-XXXX-XXXX-0876\t2025-01-01 01:43:00.0',
  'portal\t3000\t0',
  `scroll\t300\t7\t${mail}`,
  'call\t0',
  `batch false\t300\t300\t[1, 23]\t276\t${mail}\t${mail}`,
  `batch true\t300\t300\t[1, 23]\t276\t${mail}\t${mail}`,
  'key\t301',
  'keys\t77\tx',
  'every column\t42501',
  'updatable\tchanged',
  `copy out\t300\t1\t${mail}\tXXXX-XXXX-XXXX-0073`,
  'copy in\t2',
  'large object\t300000\ttrue\t2\t300000',
  'large object gone\t42704',
  'tables\tpayment,actor,address,category,city,country,customer,film,film_actor,film_category,inventory,language,ledger,payment_2025_01,payment_2025_02,payment_2025_03,payment_later,rental,staff,store',
  'views\trental_counts,city_customers,customer_list,film_list,sales_by_store',
  'columns\tid,store_id,first_name,last_name,full_name,email,card,born,loyalty,tags,preferences,external_id,address_id,active,created',
  'types\tint4,int4,varchar,varchar,text,varchar,varchar,date,int4,_text,jsonb,uuid,int4,bool,timestamptz',
  'key\tid',
  'imported\taddress,store',
  'exported\tComplaint,rental',
  'indexes\tcustomer_email,customer_pkey',
  'routines\tcard_of,customer_balance,film_in_stock,last_day,mails_in,raw_cards',
  'catalog\tPostgreSQL\tfalse\ttrue',
  'row\tvarchar\t80\tdate\t3',
  'parameters\tint4\ttext',
  'notification\t1\tfilm 9',
  'cancelled\t57014',
  `after\t${mail}`,
  'autosave\t42703',
  'autosave\t42501',
  `still\t${mail}`,
]
