import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import pino from 'pino'
import { MaskMap } from '../../../../src/gateway/rewrite/mask-map.ts'
import { StatementTexts } from '../../../../src/gateway/session/statement-texts.ts'
import { SteadyParser } from '../../../../src/sql/parser-instance.ts'

const customers = {
  schema: 'public',
  name: 'customers',
  twin: { schema: 'masked_public', name: 'customers' },
  columns: ['id', 'email'],
  hasChildren: false,
  key: [],
  dependent: [],
}
const createMap = () => new MaskMap({ relations: [customers], homonyms: [customers] })

describe('how often a text is parsed', () => {
  const open = (masks: () => MaskMap, path = 'public') =>
    new StatementTexts({
      masks,
      role: 'analyst',
      database: 'shop',
      parameters: new Map([['search_path', path]]),
      log: pino({ level: 'silent' }),
    })
  const countParses = (t: TestContext) => {
    const { mock } = t.mock.method(SteadyParser.prototype, 'parse')
    return () => {
      const count = mock.callCount()
      mock.resetCalls()
      return count
    }
  }
  const rewrite = (texts: StatementTexts, text: string) =>
    assert.ok(texts.rewrite(Buffer.from(text)), `${text} is not moved`)
  const byId = (id: number) => `select email from public.customers where id = ${id} and name <> 'n${id}'`
  /** One that has no template. */
  const commented = 'select email from public.customers -- all'

  test('once for all that differ in literals, in all sessions', (t) => {
    const takeCount = countParses(t)
    const map = createMap()
    const texts = open(() => map)
    for (let id = 0; id < 100; id++) rewrite(texts, byId(id))
    assert.equal(takeCount(), 1)
    rewrite(
      open(() => map),
      byId(1000),
    )
    assert.equal(takeCount(), 0)
  })

  test('once for the same text', (t) => {
    const takeCount = countParses(t)
    const map = createMap()
    const texts = open(() => map)
    for (let round = 0; round < 100; round++) rewrite(texts, commented)
    assert.equal(takeCount(), 1)
    rewrite(texts, commented.replace('all', 'some'))
    assert.equal(takeCount(), 1)
  })

  test('again for other masks and for another search path, by the same session too', (t) => {
    const takeCount = countParses(t)
    let map = createMap()
    const texts = open(() => map)
    rewrite(texts, byId(1))
    assert.equal(takeCount(), 1)
    map = createMap()
    for (let id = 0; id < 10; id++) rewrite(texts, byId(id))
    assert.equal(takeCount(), 1)
    texts.setParameter('search_path', 'public, sales')
    for (let id = 0; id < 10; id++) rewrite(texts, byId(id))
    assert.equal(takeCount(), 1)
    rewrite(
      open(() => map),
      byId(1),
    )
    assert.equal(takeCount(), 0)
  })

  test('never when nothing masked is named', (t) => {
    const takeCount = countParses(t)
    const map = createMap()
    const texts = open(() => map)
    assert.equal(texts.rewrite(Buffer.from('select 1 from orders')), undefined)
    assert.equal(takeCount(), 0)
  })
})
