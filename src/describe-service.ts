import { hostname } from 'node:os'
import type { Logger } from 'pino'
import type { Registry } from 'prom-client'
import { followSecretKeys } from './auth/secret-ring.ts'
import type { SigningKeys } from './auth/signing-keys.ts'
import { followNodes, joinKeys, type KnownKeys, type NodeReporter, reportNode } from './db/nodes.ts'
import type { Query } from './db/query.ts'
import type { Store } from './db/store.ts'
import type { StoreHealth } from './db/store-health.ts'
import { readOpenSessions } from './gateway/metrics.ts'
import { loadConfigured } from './http/certificates.ts'
import type { SecretRing } from './kernel/secret-box.ts'
import type { ServiceDescription } from './masking/management/service-description.ts'
import { camel, prefix, type Settings, settingEntries } from './settings.ts'
import { version } from './version.ts'

export interface DescribedParts {
  readonly settings: Settings
  readonly auth: { readonly signingKeys: SigningKeys; readonly secretBox: SecretRing }
  readonly health: StoreHealth
  readonly store: Store
  readonly metrics: { readonly registry: Registry }
  readonly log: Logger
  /** The keys of the processes that serve HTTP for this node. */
  listWorkerKeys(): readonly KnownKeys[]
  /** Set in a process of a node that reports for it. */
  readonly part: NodePart | undefined
}

/** The facts of a node that a process serving HTTP for it gets. */
export interface NodePart {
  readonly nodeId: string
  readonly isEmbedded: boolean
  tellKeys(keys: KnownKeys): void
}

/** Reports this node to the others, and tells how they run. */
export function openServiceDescription(parts: DescribedParts) {
  const { store, metrics, log, settings, part } = parts
  const { pulse } = store
  const { sql } = store.database
  const { secretBox } = parts.auth
  const readKeys = () => joinKeys([secretBox, ...parts.listWorkerKeys()])
  const nodes = part
    ? followNodes(sql, pulse, part.nodeId, () => part.tellKeys(readKeys()))
    : reportNode(sql, pulse, version, () => readOpenSessions(metrics.registry), readKeys, log)
  const keys = followSecretKeys(secretBox, { sql, pulse, ...settings }, () => nodes.report(), log)
  const ports = {
    describeService: createServiceDescription(parts, nodes),
    listNodes: (tx: Query) => nodes.list(tx),
  }
  return {
    nodeId: nodes.id,
    /** Nodes, and processes of this one, among which a limit is divided. */
    countNodes: () => nodes.count() * (part ? settings.httpWorkers : 1),
    report: () => nodes.report(),
    ports,
    close() {
      keys.close()
      return nodes.close()
    },
  }
}

/** Tells how this node runs; no secret is in it. */
function createServiceDescription(
  { settings, auth, health, store, part }: DescribedParts,
  nodes: NodeReporter,
) {
  const { signingKeys } = auth
  const startedAt = new Date().toISOString()
  return async (tx: Query): Promise<ServiceDescription> => {
    const [answer] = await tx<{ version: string }[]>`select current_setting('server_version') as version`
    const { source, expiresAt } = await loadConfigured(settings)
    const current = signingKeys.current().kid
    return {
      version,
      node: { hostName: hostname(), runtime: process.version, startedAt },
      nodes: (await nodes.list(tx)).map(({ startedAt: since, seenAt, ...node }) => ({
        ...node,
        startedAt: since.toISOString(),
        seenAt: seenAt.toISOString(),
        answers: node.id === nodes.id,
      })),
      store: {
        state: health.state,
        kind: (part?.isEmbedded ?? store.server) ? 'embedded' : 'external',
        version: answer?.version ?? '',
      },
      signingKeys: signingKeys.list().map((key) => ({
        kid: key.kid,
        activeFrom: key.activeFrom.toISOString(),
        expiresAt: key.expiresAt?.toISOString() ?? null,
        signsNow: key.kid === current,
      })),
      certificate: { source, expiresAt: expiresAt.toISOString() },
      settings: describeSettings(settings),
    }
  }
}

/** Each setting with its value and origin. Secret values, and those that are not set, are null. */
function describeSettings(settings: Settings): ServiceDescription['settings'] {
  return settingEntries.map(([name, setting]) => {
    const value = (settings as Readonly<Record<string, unknown>>)[camel(name)]
    const preset = setting.default === undefined ? undefined : setting.read(setting.default)
    return {
      name: prefix + name,
      value: setting.secret || value === undefined ? null : [value].flat().join(','),
      origin: JSON.stringify(value) === JSON.stringify(preset) ? 'default' : 'environment',
      description: setting.doc,
    }
  })
}
