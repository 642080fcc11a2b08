import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import pino from 'pino'
import { MaskMap } from '../../../../src/gateway/rewrite/mask-map.ts'
import { rewriteText } from '../../../../src/gateway/rewrite/rewrite.ts'
import { StatementTexts } from '../../../../src/gateway/session/statement-texts.ts'
import { join } from '../../../../src/sql/splice.ts'
import { findTemplate } from '../../../../src/sql/template.ts'
import { cases } from './rewrite-cases.ts'

const masked = ['customers', 'adults', 'x1'].map((name) => ({
  schema: 'public',
  name,
  twin: { schema: 'masked_public', name },
  columns: ['id', 'email'],
  hasChildren: false,
  key: [],
  dependent: [],
}))
const templateOf = (text: string) => {
  const bytes = Buffer.from(text)
  const found = findTemplate(bytes, 0, bytes.length)
  return found?.bytes.toString('latin1', 0, found.length)
}
const newMap = () => new MaskMap({ relations: masked, homonyms: masked })

describe('templates of statements', () => {
  const templates: Record<string, string | undefined> = {
    "select 1, 'it''s', x1, \"a'1\" from t2 where a=.5 and b > 1e10":
      "select 1, 'a', x1, \"a'1\" from t2 where a=1 and b > 1",
    'select x from t': 'select x from t',
    'select $1, a$1, $23 from t where b = 4': 'select $1, a$1, $23 from t where b = 1',
    "select 'é', '$1', '--', '/*', '' from t": "select 'a', 'a', 'a', 'a', 'a' from t",
    'select $$a$$': undefined,
    'select $a$a$a$': undefined,
    'select 1$': undefined,
    'select 1.5e-3, 0xFF, 0o17, 0b1_0, 1_000.5, 1. from t': 'select 1, 1, 1, 1, 1, 1 from t',
    'select a,1from t': undefined,
    'select a,1.from t': undefined,
    'select a,1e5from t': undefined,
    'select a,1e from t': undefined,
    'select a,0xfrom t': undefined,
    'select a,1_from t': undefined,
    'select a,.5from t': undefined,
    'select 1..2': undefined,
    'select $1.5': undefined,
    'select a.5': undefined,
    "select 'a": undefined,
    "select 'a''": undefined,
    'select "a""': undefined,
    'select 1é': undefined,
    'select "é"': undefined,
    "select 'a\\'": undefined,
    'select \0': undefined,
    'select 1 -- 2': undefined,
    'select 1 /* 2 */': undefined,
    "select E'a\\'b'": undefined,
    "select U&'a' uescape 'b'": undefined,
  }
  for (const [text, expected] of Object.entries(templates))
    test(text, () => assert.equal(templateOf(text), expected))

  /** What the statement becomes without any template. */
  const expect = (text: string): string => {
    const bytes = Buffer.from(text)
    const { splices } = rewriteText(bytes, {
      masks: newMap(),
      database: 'shop',
      path: ['ann', 'public'],
      hidden: new Set(),
    })
    return splices
      .toReversed()
      .reduce((done, { from, to, text }) => done.slice(0, from) + text + done.slice(to), text)
  }

  test('give what the statement itself gives, whatever the literals', () => {
    const more = [
      "select * from customers where name = 'x' and id in (1, 2, 3) union select 1.5, 'y' from public.customers",
      "select public.customers.id, 'a', 12 from public.customers where email = 'public.customers' limit 1",
      "select '', 1, '''' , 'from customers' from x1 where public.x1.id = 1",
      "select 1 from customers where a = '1' 'b' and b = 'customers''customers'",
      "set search_path = 'public'; select 1 from customers",
    ]
    const others = ['0', '12345', '1.25e3', '.5', '007']
    const strings = ["''", "'from customers'", "'it''s'", "'\"'", "'1, 2 customers 3'", "';'"]
    const masks = newMap()
    let compared = 0
    for (const text of [...cases.map(([written]) => written), ...more].filter((text) =>
      /^[ -~]*$/.test(text),
    ))
      for (let round = 0; round < 12; round++) {
        let at = round
        const varied = templateOf(text)
          ? text.replace(/'(?:[^']|'')*'|"(?:[^"]|"")*"|[a-z_]\w*|\d+(?:\.\d+)?/gi, (found) => {
              at += 1
              if (found.startsWith("'")) return strings[at % strings.length] ?? found
              return /^\d/.test(found) ? (others[at % others.length] ?? found) : found
            })
          : text
        const texts = new StatementTexts({
          masks: () => masks,
          role: 'ann',
          database: 'shop',
          parameters: new Map([['search_path', '"$user", public']]),
          log: pino({ level: 'silent' }),
        })
        const moved = texts.rewrite(Buffer.from(varied))
        const sent = moved ? join(moved.original, moved.splices).toString() : varied
        assert.equal(sent, expect(varied), varied)
        compared++
      }
    assert.ok(compared > 1000)
  })
})
