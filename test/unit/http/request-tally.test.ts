import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Counter, Histogram, Registry } from 'prom-client'
import { RequestTally } from '../../../src/http/request-tally.ts'

test('requests are shown as the metrics of the library show them', async () => {
  const [ours, theirs] = [new Registry(), new Registry()]
  const tally = new RequestTally(ours)
  const requests = new Counter({
    name: 'masquerade_http_requests_total',
    help: 'Requests answered, by operation, method and status.',
    labelNames: ['operation', 'method', 'status'] as const,
    registers: [theirs],
  })
  const durations = new Histogram({
    name: 'masquerade_http_request_seconds',
    help: 'Time from the first byte of a request to the last of its answer.',
    labelNames: ['operation'] as const,
    buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10],
    registers: [theirs],
  })
  assert.equal(await ours.metrics(), await theirs.metrics())
  const observed = [
    ['getUser', 'GET', 200, 0.5],
    ['getUser', 'GET', 200, 1],
    ['getUser', 'GET', 404, 2.4],
    ['getUser', 'HEAD', 200, 20_000],
    ['page', 'GET', 200, 130.25],
  ] as const
  for (const [operation, method, status, ms] of observed) {
    tally.observe(operation, method, status, ms)
    requests.inc({ operation, method, status })
    durations.observe({ operation }, ms / 1000)
  }
  assert.equal(await ours.metrics(), await theirs.metrics())
  tally.observe('page', 'GET', 200, 10_000)
  requests.inc({ operation: 'page', method: 'GET', status: 200 })
  durations.observe({ operation: 'page' }, 10)
  assert.equal(await ours.metrics(), await theirs.metrics())
})
