import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { test } from 'node:test'
import { parse } from 'yaml'
import { createMembershipMetrics } from '../../src/directory/membership/memory/metrics.ts'
import { createGatewayMetrics } from '../../src/gateway/metrics.ts'
import { createMetrics } from '../../src/http/metrics.ts'
import { findProgram } from '../support/find-program.ts'
import { atTop, readText } from './tree.ts'

const ownMetric = /\b(?:masquerade|nodejs|process)_[a-z0-9_]+/g

function listMetrics(): Set<string> {
  const metrics = createMetrics()
  metrics.showStates(async () => ({}))
  metrics.showStore(
    [],
    () => '',
    async () => 0,
  )
  createGatewayMetrics(metrics.registry)
  createMembershipMetrics(metrics.registry)
  return new Set(metrics.registry.getMetricsAsArray().map(({ name }) => name))
}

test('every metric that the dashboard and the alert rules name exists', () => {
  const known = listMetrics()
  const files = ['deploy/alerts.yaml', 'deploy/grafana-dashboard.json'] as const
  for (const file of files) {
    const named = readText(file).match(ownMetric) ?? []
    assert.ok(named.length > 5)
    const unknown = named.filter((name) => !known.has(name.replace(/_(bucket|sum|count)$/, '')))
    assert.deepEqual([...new Set(unknown)], [], file)
  }
})

test('every alert says what happened and what to do', () => {
  const { groups } = parse(readText('deploy/alerts.yaml'))
  for (const { rules } of groups)
    for (const { alert, labels, annotations } of rules) {
      assert.match(labels.severity, /^(critical|warning)$/, alert)
      assert.ok(annotations.summary && annotations.action, alert)
    }
})

test('the alert rules and the unit pass the checks of their own tools, where those are installed', () => {
  const checks = [
    ['promtool', 'check', 'rules', atTop('deploy/alerts.yaml')],
    ['systemd-analyze', 'security', '--offline=true', '--threshold=20', atTop('deploy/masquerade.service')],
  ]
  for (const [name = '', ...args] of checks) {
    const program = findProgram(name)
    if (!program) continue
    const { status, stdout, stderr } = spawnSync(program, args, { encoding: 'utf8', timeout: 60_000 })
    assert.equal(status, 0, `${name}: ${stdout}${stderr}`)
  }
  assert.match(readText('deploy/masquerade.service'), /^ProtectSystem=strict$/m)
})
