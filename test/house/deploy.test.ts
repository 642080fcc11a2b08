import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { DCLinter } from 'dclint'
import { parse, parseAllDocuments } from 'yaml'
import { createMembershipMetrics } from '../../src/directory/membership/memory/metrics.ts'
import { loginFailures } from '../../src/gateway/login/login-failures.ts'
import { createGatewayMetrics } from '../../src/gateway/metrics.ts'
import { createMetrics } from '../../src/http/metrics.ts'
import { prefix, readSettings, settingEntries } from '../../src/settings.ts'
import { findProgram } from '../support/find-program.ts'
import { atTop, readText, readTree } from './tree.ts'

/** Habits of the linter that are matters of taste, such as the order of keys; what is left finds mistakes. */
const composeRules = {
  'service-keys-order': 0,
  'services-alphabetical-order': 0,
  'top-level-properties-order': 0,
  'no-quotes-in-volumes': 0,
  'require-quotes-in-ports': [2, { quoteType: 'double' }],
  // The proxy is the one service that other machines reach.
  'no-unbound-port-interfaces': 0,
}

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

test('the alert of failed logins names reasons that the gateway counts by', () => {
  const [, named = ''] =
    /failed_logins_total\{[^}]*reason=~"([^"]+)"/.exec(readText('deploy/alerts.yaml')) ?? []
  const known: readonly string[] = loginFailures
  assert.ok(named.split('|').length > 2)
  assert.deepEqual(
    named.split('|').filter((reason) => !known.includes(reason)),
    [],
  )
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

const systemd = findProgram('systemd-analyze')
test('systemd finds nothing in the unit but the program that is yet to be installed', {
  skip: systemd === undefined && 'systemd is not installed',
}, () => {
  const args = ['verify', atTop('deploy/masquerade.service')]
  const { stderr, error } = spawnSync(systemd ?? '', args, { encoding: 'utf8', timeout: 60_000 })
  assert.equal(error, undefined)
  const own = stderr.split('\n').filter((line) => line.includes('masquerade.service'))
  assert.deepEqual(
    own.filter((line) => !/Command \/usr\/local\/bin\/masquerade is not executable/.test(line)),
    [],
  )
})

test('every setting that the containers get exists, and the chart has the version of the package', () => {
  const known = new Set(settingEntries.map(([name]) => prefix + name))
  const files = readTree('deploy', /Containerfile$|\.(yaml|tpl|service)$/)
  assert.ok(files.length > 8)
  const ofCompose = ['MASQUERADE_DATABASE_PASSWORD']
  for (const { path, text } of files) {
    const unknown = (text.match(/\bMASQUERADE_[A-Z_]+\b/g) ?? []).filter((name) => !known.has(name))
    assert.deepEqual(
      unknown.filter((name) => !ofCompose.includes(name)),
      [],
      path,
    )
  }
  const { version } = JSON.parse(readText('package.json'))
  const chart = parse(readText('deploy/helm/masquerade/Chart.yaml'))
  assert.deepEqual([chart.version, chart.appVersion], [version, version])
})

test('nodes drain for longer than HAProxy takes to notice, and are killed later than they need to stop', () => {
  const ofHaproxy = /default-server inter (\d+)s fastinter (\d+)ms fall (\d+) /.exec(
    readText('deploy/haproxy.cfg'),
  )
  const [, seconds = 0, fastMs = 0, fall = 0] = ofHaproxy?.map(Number) ?? []
  const noticedMs = 1000 * seconds + fastMs * (fall - 1)
  assert.ok(noticedMs > 0)
  const shutdownSeconds = 2 * readSettings({}).shutdownTimeoutSeconds
  const ends = [
    ['deploy/compose.yaml', /MASQUERADE_DRAIN_SECONDS: "(\d+)"/, /stop_grace_period: (\d+)s/],
    ['deploy/masquerade.service', /MASQUERADE_DRAIN_SECONDS=(\d+) /, /^TimeoutStopSec=(\d+)$/m],
  ] as const
  for (const [path, drain, kill] of ends) {
    const [drainSeconds, killSeconds] = [drain, kill].map((pattern) =>
      Number(pattern.exec(readText(path))?.[1]),
    )
    assert.ok(drainSeconds && drainSeconds * 1000 > 2 * noticedMs, path)
    assert.ok(killSeconds && killSeconds > drainSeconds + shutdownSeconds, path)
  }
  const chart = readText('deploy/helm/masquerade/templates/nodes.yaml')
  assert.match(chart, /name: MASQUERADE_DRAIN_SECONDS, value: \{\{ \.Values\.drainSeconds \| quote \}\}/)
  const [, more] =
    /terminationGracePeriodSeconds: \{\{ add \.Values\.drainSeconds (\d+) \}\}/.exec(chart) ?? []
  assert.ok(Number(more) > shutdownSeconds)
})

test('containers have no privileges and a read-only root', () => {
  const image = readText('deploy/Containerfile')
  assert.match(image, /^USER 10001:10001$/m)
  assert.match(image, /^HEALTHCHECK .*\/readyz/m)
  // A volume of Kubernetes can be written by every user; the node makes a folder in it for itself.
  const chart = readText('deploy/helm/masquerade/templates/nodes.yaml')
  const [, volume] = /name: data, mountPath: ([\w/]+)/.exec(chart) ?? []
  assert.match(chart, new RegExp(`name: MASQUERADE_DATA_DIR, value: ${volume}/data }`))
  const { services } = parse(readText('deploy/compose.yaml'), { merge: true })
  for (const name of ['node-1', 'node-2', 'proxy']) {
    assert.equal(services[name].read_only, true, name)
    assert.deepEqual(services[name].cap_drop, ['ALL'], name)
  }
})

test('the compose file keeps the schema of the specification', () => {
  const lint = (file: string): { errorCount: number; messages: { message: string }[] }[] =>
    new DCLinter({ rules: composeRules, quiet: true, debug: false, exclude: [] }).lintFiles([file], false)
  assert.deepEqual(
    lint(atTop('deploy/compose.yaml')).flatMap(({ messages }) => messages.map(({ message }) => message)),
    [],
  )
  const folder = mkdtempSync(join(tmpdir(), 'masquerade-compose-'))
  const wrong = join(folder, 'compose.yaml')
  writeFileSync(wrong, readText('deploy/compose.yaml').replace('read_only: true', 'read_only: [maybe]'))
  assert.equal(lint(wrong)[0]?.errorCount, 1)
  rmSync(folder, { recursive: true })
})

const helm = findProgram('helm')
describe('the Helm chart', { skip: helm === undefined && 'helm is not installed' }, () => {
  const chart = atTop('deploy/helm/masquerade')
  const run = (...args: string[]) => spawnSync(helm ?? '', args, { encoding: 'utf8', timeout: 60_000 })
  const render = (...options: string[]) =>
    run('template', 'one', chart, '--kube-version=1.31.0', ...options.map((option) => `--set=${option}`))

  test('helm lints it, and renders it with every option', () => {
    const linted = run('lint', '--strict', chart)
    assert.equal(linted.status, 0, linted.stdout + linted.stderr)
    const rendered = render(
      'postgresql.enabled=true',
      'serviceMonitor.enabled=true',
      'networkPolicy.from[0].podSelector.matchLabels.a=b',
      'settings.MASQUERADE_LOG_LEVEL=warn',
      'trustedProxies={10.0.0.1}',
    )
    assert.equal(rendered.status, 0, rendered.stderr)
    const objects = parseAllDocuments(rendered.stdout).map((document) => document.toJS())
    assert.deepEqual(
      objects.map(({ kind }) => kind).sort(),
      'Deployment NetworkPolicy PodDisruptionBudget Service Service ServiceMonitor StatefulSet'.split(' '),
    )
    const pod = objects.find(({ kind }) => kind === 'Deployment').spec.template.spec
    assert.deepEqual([pod.securityContext.runAsNonRoot, pod.enableServiceLinks], [true, false])
    const [node] = pod.containers
    assert.deepEqual(node.securityContext, {
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ['ALL'] },
    })
    const settings = Object.fromEntries(
      node.env.map(({ name, value }: Record<string, string>) => [name, value]),
    )
    assert.equal(settings.MASQUERADE_LOG_LEVEL, 'warn')
    assert.equal(settings.MASQUERADE_TRUSTED_PROXIES, '10.0.0.1')
  })

  test('it refuses values that nodes would not start with', () => {
    for (const option of ['publicUrl=http://plain', 'replicas=0', 'settings.LOG_LEVEL=warn', 'replica=3'])
      assert.notEqual(render(option).status, 0, option)
  })
})
