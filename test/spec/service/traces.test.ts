import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after } from 'node:test'
import { ROOT_CONTEXT, SpanKind } from '@opentelemetry/api'
import { SamplingDecision } from '@opentelemetry/sdk-trace-base'
import { sampleByChance } from '../../../src/open-tracing.ts'
import { readTree } from '../../house/tree.ts'
import { clause } from '../../support/clause.ts'
import { useGateway } from '../../support/gateway.ts'
import { waitUntil } from '../../support/wait-until.ts'

interface Span {
  readonly traceId: string
  readonly spanId: string
  readonly parentSpanId?: string
  readonly name: string
  readonly attributes: readonly { key: string; value: Record<string, unknown> }[]
}

/** The collector of this test: it keeps what the exporter sends. */
const received: string[] = []
const spans: Span[] = []
let isDown = false
const collector = createServer((request, response) => {
  const chunks: Buffer[] = []
  request.on('data', (chunk: Buffer) => chunks.push(chunk))
  request.on('end', () => {
    if (isDown) return response.writeHead(500).end()
    const text = Buffer.concat(chunks).toString()
    received.push(text)
    for (const { scopeSpans } of JSON.parse(text).resourceSpans)
      for (const scope of scopeSpans) spans.push(...scope.spans)
    response.setHeader('content-type', 'application/json').end('{}')
  })
})
await new Promise<void>((resolve) => collector.listen(0, '127.0.0.1', resolve))
after(() => collector.close())
const { port } = collector.address() as AddressInfo
const gateway = useGateway({ MASQUERADE_TRACES_URL: `http://127.0.0.1:${port}/v1/traces` })

clause(
  'SVC-85',
  'With `MASQUERADE_TRACES_URL` the service sends traces by OTLP over HTTP: a span for each request, below the one…',
  async () => {
    const { masking } = gateway
    const traceId = '0af7651916cd43dd8448eb211c80319c'
    const rule = {
      schemaName: 'public',
      tableName: 'customers',
      columnName: 'name',
      maskingFunction: 'Default',
    }
    const traced = { traceparent: `00-${traceId}-b7ad6b7169203331-01` }
    const put = await masking.putRule(gateway.db, 'name', rule, traced)
    assert.equal(put.status, 201, put.text)
    const client = await gateway.connect('analyst')
    await client.query("select email from customers where email = 'secret value'")
    await client.end()
    const session = await waitUntil('the span of the session', () =>
      spans.find(({ name }) => name === 'gateway session'),
    )
    const attributeOf = ({ attributes }: Span, key: string) =>
      Object.values(attributes.find((one) => one.key === key)?.value ?? {})[0]
    assert.ok(session)
    assert.equal(Number(attributeOf(session, 'masquerade.statements')), 1)

    const request = await waitUntil('the span of the request', () =>
      spans.find((span) => span.traceId === traceId && span.parentSpanId === 'b7ad6b7169203331'),
    )
    assert.ok(request)
    assert.doesNotMatch(request.name, /HTTP|\//, 'it has the name of the operation')
    assert.equal(Number(attributeOf(request, 'http.response.status_code')), 201)
    const isBelow = (span: Span, above: Span): boolean => {
      if (span.parentSpanId === above.spanId) return true
      const parent = spans.find(({ spanId }) => spanId === span.parentSpanId)
      return parent !== undefined && isBelow(parent, above)
    }
    const below = spans.filter((span) => span.traceId === traceId && isBelow(span, request))
    assert.ok(below.some(({ name }) => name === 'SQL insert'))
    const enforcement = below.find(({ name }) => name === 'enforcement')
    assert.ok(enforcement)
    assert.ok(below.some((span) => span.name.startsWith('SQL ') && isBelow(span, enforcement)))
    assert.ok(below.some((span) => /\$1/.test(String(attributeOf(span, 'db.query.text')))))

    // Sign-ins, tokens and people come to pass too, and nothing of them is in a span.
    const service = masking.service()
    const token = service.tokenFor({ permissions: ['User.ReadWrite.All'] })
    const person = 'traced.person@example.com'
    await service.request('GET', `/v1.0/users/${person}`, { token })
    await fetch(`${service.origin}/${service.tenantId}/oauth2/v2.0/token`, {
      method: 'POST',
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      body: 'grant_type=client_credentials&client_id=nobody-here&client_secret=told-to-nobody',
    })
    const count = spans.length
    await waitUntil('their spans', () => spans.length > count && spans.some(({ name }) => name === 'tokens'))
    const everything = received.join('\n')
    const sent = [
      token,
      person,
      'secret value',
      'told-to-nobody',
      'nobody-here',
      'ann@example.com',
      gateway.db,
    ]
    for (const value of [...sent, gateway.masked().role('analyst'), new URL(gateway.masked().url).password])
      assert.equal(everything.includes(value), false, value)

    isDown = true
    assert.equal((await masking.getRule(gateway.db, 'name')).status, 200)
  },
)

clause('SVC-85', 'With `MASQUERADE_TRACES_URL` the service sends traces by OTLP over HTTP: …', () => {
  const users = readTree('src', /\.ts$/).filter(({ text }) => /from '@opentelemetry\//.test(text))
  assert.deepEqual(
    users.map(({ path }) => path),
    ['src/open-tracing.ts'],
  )
  const loading = readTree('src', /\.ts$/).flatMap(
    ({ text }) => text.match(/(import\(|from )'[^']*open-tracing\.ts'/g) ?? [],
  )
  assert.deepEqual(loading, ["import('./open-tracing.ts'"])
})

clause(
  'SVC-97',
  '`MASQUERADE_TRACES_PERCENT` keeps that share of traces, by chance: a client decides by no id of a trace whether its requests are kept. The address of the collector, which may hold a key, is a secret setting.',
  async () => {
    // The ids that a sampler by id keeps always, and never.
    for (const traceId of ['1'.padStart(32, '0'), '0'.repeat(8).padStart(32, 'f')]) {
      const decide = (percent: number) =>
        sampleByChance(percent).shouldSample(ROOT_CONTEXT, traceId, 'HTTP GET', SpanKind.SERVER, {}, [])
          .decision
      const keptOf = (percent: number) =>
        Array.from({ length: 1000 }, () => decide(percent)).filter(
          (decision) => decision === SamplingDecision.RECORD_AND_SAMPLED,
        ).length
      assert.deepEqual([keptOf(0), keptOf(100)], [0, 1000])
      const half = keptOf(50)
      assert.ok(half > 350 && half < 650, `${half} of 1000`)
    }
    const service = gateway.masking.service()
    const token = service.tokenFor({ role: 'Owner' })
    const { body } = await service.request('GET', '/providers/Vendor.Sql/service?api-version=2014-04-01', {
      token,
    })
    const setting = body.settings.find(({ name }: { name: string }) => name === 'MASQUERADE_TRACES_URL')
    assert.deepEqual([setting.value, setting.origin], [null, 'environment'])
  },
)
