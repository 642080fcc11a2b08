import { checkOperations } from './api/check-operations.ts'
import type { Room } from './api/room.ts'
import { publicOrigin } from './auth/identity.ts'
import { openAuth } from './auth/open-auth.ts'
import { type AssignmentsOf, mayAct, readRoles } from './auth/role-assignments.ts'
import { readFreeBytes } from './db/data-directory.ts'
import { createOwnStoreCheck } from './db/database-marks.ts'
import { hearEvents } from './db/events.ts'
import { createHostGuard } from './db/host-guard.ts'
import { readRestoredAt } from './db/instance.ts'
import { keepLogs } from './db/keep-logs.ts'
import type { Query } from './db/query.ts'
import { quietOutages } from './db/quiet-outages.ts'
import { openStore } from './db/store.ts'
import { StoreHealth, storeStates } from './db/store-health.ts'
import { openServiceDescription } from './describe-service.ts'
import { SignInLog } from './directory/audit-logs/sign-in-log.ts'
import { bootstrap } from './directory/first-start/bootstrap.ts'
import { openGraph } from './directory/membership/open-graph.ts'
import { createSqlGraph } from './directory/membership/sql-graph.ts'
import { openNotifications } from './directory/notifications/open-notifications.ts'
import { permissionTables } from './directory/permissions.ts'
import { findLoginName } from './directory/principals/find-login-name.ts'
import { mayBeLoginRole } from './directory/principals/login-role.ts'
import { createPrincipalPorts } from './directory/principals/principal-ports.ts'
import { createRightsCheck, readEveryoneMay } from './directory/rights/person-rights.ts'
import { directoryRoom } from './directory/room.ts'
import { createSample } from './directory/sample/create-sample.ts'
import type { Gateway } from './gateway/gateway.ts'
import { createQueryPort } from './gateway/query/query-port.ts'
import { loadConfigured } from './http/certificates.ts'
import { listen } from './http/listen.ts'
import { createNodeCertificate } from './http/local-ca.ts'
import { createMetrics } from './http/metrics.ts'
import { readForwarded } from './http/read-forwarded.ts'
import { signedInPath } from './http/reference/add-reference.ts'
import { describeStart, HttpPool } from './http-workers.ts'
import { localOrigins, pagesAt, readHostNames } from './issuer/address.ts'
import { changePassword } from './issuer/change-password.ts'
import { openIssuer } from './issuer/issuer.ts'
import { createNetworkList } from './kernel/network.ts'
import { stopOnce } from './kernel/stop-once.ts'
import { openBoundCatalogs } from './masking/binding/bound-catalog.ts'
import { listContained } from './masking/enforcement/contained-counts.ts'
import { createGivenRights } from './masking/given-rights.ts'
import { assignAtRoot, listAssignedRoles } from './masking/role-assignments/assigned-roles.ts'
import { maskingRoom } from './masking/room.ts'
import { countStates, expectChecks } from './masking/states/list-states.ts'
import { openInspection } from './open-containment.ts'
import { openCredentials } from './open-credentials.ts'
import { createEnforcementPorts, createExaminers, openEnforcement, openFollower } from './open-enforcement.ts'
import { openServiceGateway } from './open-gateway.ts'
import { openServiceHttp, type Phase } from './open-http.ts'
import { createRevocationPorts } from './revocation-ports.ts'
import { bringSample } from './sample/bring-sample.ts'
import type { Service, StartOptions } from './service.ts'

export type { Service } from './service.ts'

/** The only composition root: everything is built here, and stopped in the opposite order. */
export async function startService(options: StartOptions): Promise<Service> {
  const { settings, onProgress, onFatal, part } = options
  const health = new StoreHealth(options.log)
  const log = quietOutages(options.log, health)
  const emulator = settings.emulator ? await import('./auth/emulator.ts') : undefined
  emulator?.requireLoopback(settings.host)
  const headers = emulator?.emulatorHeaders ?? {}
  await using cleanup = new AsyncDisposableStack()
  // Libraries for traces are loaded only where they are made.
  if (settings.tracesUrl) cleanup.use((await import('./open-tracing.ts')).openTracing(settings, log))
  const store = await openStore(settings, {
    log,
    onFailure: (error) => health.note(error),
    onProgress: onProgress ?? (() => {}),
    onFatal: onFatal ?? (() => {}),
  })
  cleanup.defer(() => store.close())
  const { database, tenantId, server } = store
  health.watch({ database, dataDir: server && settings.dataDir })
  cleanup.defer(() => health.close())

  if (settings.demo && server !== undefined) {
    onProgress?.('creating the sample directory')
    await createSample(database, tenantId, settings.tenantDomain)
  }
  const metrics = createMetrics()
  if (!part) metrics.showStore(storeStates, () => health.state, readFreeBytes.bind(null, settings.dataDir))
  const memberships = openGraph({
    database,
    address: store.address,
    tenantId,
    memoryBytes: settings.membershipMemoryMb * 1024 * 1024,
    log,
    registry: metrics.registry,
  })
  cleanup.defer(() => memberships.close())
  const { graph } = memberships
  const everyoneMay = readEveryoneMay(settings.everyoneCreates)
  const readAssignments =
    (sql: Query, memberships: Pick<typeof graph, 'groupsOf'>): AssignmentsOf =>
    async (tenant, id) =>
      listAssignedRoles(sql, tenant, [id, ...(await memberships.groupsOf(tenant, id))])
  let place: { host: string; httpPort: number; httpsPort: number } = settings
  let countNodes = () => 1
  const auth = await openAuth({
    countNodes: () => countNodes(),
    settings,
    database,
    tenantId,
    embedded: part?.isEmbedded ?? server !== undefined,
    log,
    assignmentsOf: readAssignments(database.sql, graph),
    ...createRevocationPorts(tenantId),
    requireAnyRight: createRightsCheck(database.sql, everyoneMay),
    origin: () => publicOrigin({ publicUrl: settings.publicUrl, ...place }),
  })
  cleanup.defer(() => auth.close())
  let pool: HttpPool | undefined
  const description = openServiceDescription({
    ...{ settings, auth, health, store, metrics, log, part },
    listWorkerKeys: () => pool?.keys ?? [],
  })
  cleanup.defer(() => description.close())
  countNodes = description.countNodes
  const administrator = await bootstrap({
    database,
    tenantId,
    domain: settings.tenantDomain,
    dataDir: settings.dataDir,
    assignOwner: (tx, tenant, id) => assignAtRoot(tx, tenant, 'Owner', id),
  })
  const signIns = new SignInLog({ sql: database.sql, tenantId, days: settings.signInLogDays, log })
  cleanup.defer(() => signIns.close())
  const issuer = await openIssuer({
    ...auth,
    recordSignIn: (attempt) => signIns.record(attempt),
    requireRoom: (writer) => health.requireRoom(writer),
    database,
    hostNames: readHostNames(settings.host, settings.tlsHostNames),
    portalUris: () => pagesAt([auth.identity.origin(), ...localOrigins(place)], ['/', signedInPath]),
    log,
  })
  cleanup.defer(() => issuer.close())

  const { secretBox } = auth
  const gatekeeper = emulator?.emulate(auth.gatekeeper, tenantId, administrator) ?? auth.gatekeeper
  const guard = createHostGuard(settings.bindingHosts)
  const checkConnection = createOwnStoreCheck(database.sql)
  const catalogs = openBoundCatalogs({
    secrets: secretBox,
    guard,
    checkConnection,
    ...createExaminers(database.sql),
  })
  cleanup.defer(() => catalogs.close())
  const { source, enforcement } = openEnforcement({
    ...store,
    graph,
    secrets: secretBox,
    guard,
    checkConnection,
    settings,
    log,
    onDrift: () => metrics.countDrift(),
    afterTurn: (...turn) => looks.request(...turn),
  })
  const { inspection, looks } = openInspection({ store: database.sql, source, enforcement, log })
  cleanup.defer(() => looks.close().then(() => enforcement.close()))
  if (!part) {
    enforcement.start()
    metrics.showStates(() => countStates(database.sql))
    metrics.showContainment(() => listContained(database.sql))
  }
  const nodeCertificate = part?.nodeCertificate ?? (await createNodeCertificate())
  let phase: Phase = 'starting'
  let gateway: Gateway | undefined = part?.gateway
  const settle = async (id: string) => {
    const report = await enforcement.settle(id)
    await gateway?.refresh(id)
    return report
  }
  const refresh = async (id: string) => gateway?.refresh(id)
  const follower = part ? undefined : openFollower({ ...store, source, enforcement, log }, refresh)
  cleanup.defer(() => follower?.close())
  const notifications = openNotifications({ ...store, settings, secrets: secretBox, auth, log })
  cleanup.defer(() => notifications.close())
  const events = hearEvents(
    store.address,
    {
      masks: (id) => void (part ?? gateway?.refresh(id)),
      cancel: (digest) => void gateway?.cancel(digest).catch(() => {}),
      directory: () => {
        for (const one of [memberships, follower, notifications]) one?.hear()
      },
      revocations: () => auth.hearRevocation(),
      restored: () => {
        follower?.hear()
        gateway?.refreshAll()
      },
      failed: (error) => health.note(error),
    },
    log,
  )
  cleanup.defer(() => events.close())
  if (!part) cleanup.defer(keepLogs(database, tenantId, settings, log))
  const credentials = openCredentials(database.sql, tenantId, secretBox)
  const masking = maskingRoom({
    providerAliases: settings.providerAliases,
    strict: settings.strict,
    guard,
    secrets: secretBox,
    catalogs,
    enforcement: createEnforcementPorts(enforcement, settle),
    inspection,
    principals: createPrincipalPorts(graph),
    ...description.ports,
    // A caller that holds the role itself needs no walk through its groups.
    mayAct: async (tx, ...deed) =>
      (await mayAct(readAssignments(tx, { groupsOf: async () => [] }), ...deed)) ||
      (await mayAct(readAssignments(tx, createSqlGraph(tx)), ...deed)),
    runQuery: createQueryPort({
      gatewayNow: () => (phase === 'closing' ? undefined : gateway),
      settings,
      certificate: nodeCertificate.cert,
      findName: findLoginName.bind(null, database.sql),
    }),
    gatewayPort: () => gateway?.port || settings.gatewayPort,
    ...credentials.makers,
    rolesOf: (tx, caller) => readRoles(readAssignments(tx, createSqlGraph(tx)), caller),
  })
  const directory = directoryRoom({
    graph,
    changePassword: (...change) => changePassword(database, tenantId, ...change),
    everyoneMay,
    hasOutsideIssuers: settings.trustedIssuersFile !== undefined,
    ...createGivenRights(mayBeLoginRole),
    secrets: secretBox,
    notifications,
    changeLogDays: settings.changeLogDays,
  })
  const rooms: Room[] = [masking, directory]
  checkOperations([...masking.operations, ...directory.operations], permissionTables)
  const checks = expectChecks(database.sql, await readRestoredAt(database.sql))
  const isTrustedProxy = createNetworkList(settings.trustedProxies)
  const { app, handler, listNotReady } = await openServiceHttp({
    ...{ database, gatekeeper, health, checks, rooms, issuer, part, metrics, headers, log },
    ...{ isTrustedProxy, portalFolder: options.portalFolder },
    now: () => ({ phase, http: pool, gateway }),
    issuerUrl: () => auth.identity.issuer(),
  })
  cleanup.defer(() => app.close())

  if (settings.httpWorkers > 1 && !part)
    pool = new HttpPool({
      start: describeStart(options, { server, nodeId: description.nodeId, nodeCertificate }),
      registry: metrics.registry,
      log,
      refresh,
      listNotReady,
      onKeys: () => description.report(),
    })
  const listeners = pool
    ? await pool.open()
    : await listen({
        settings,
        handler: readForwarded(emulator?.keepStrangersOut(handler) ?? handler, isTrustedProxy),
        certificates: () => loadConfigured(settings),
        nodeCertificate,
        log,
      })
  place = listeners
  cleanup.defer(() => listeners.close(settings.shutdownTimeoutSeconds * 1000))

  const drain = (next: Phase = 'draining') => {
    if (phase !== 'closing') phase = next
    pool?.drain()
    if (phase === 'closing') pool?.setGatewayPort(0)
  }
  const open = {
    ...{ listeners, memberships, enforcement, database, store, auth, administrator, drain },
    ...{ registry: metrics.registry, nodeCertificate: nodeCertificate.cert },
  }
  if (part) return { ...open, gateway: part.gateway, stop: stopOnce(cleanup.move(), () => drain('closing')) }
  await checks.settled()
  const opened = await openServiceGateway({
    ...{ settings, database, tenantId, guard, enforcement, source, auth, signIns, nodeCertificate, log },
    logins: credentials.logins,
    registry: metrics.registry,
  })
  gateway = opened
  pool?.setGatewayPort(opened.port)
  cleanup.defer(() => opened.close(settings.shutdownTimeoutSeconds * 1000))

  const service = { ...open, gateway: opened }
  await bringSample(settings, service, onProgress ?? (() => {}))
  await options.onOpen?.(service)
  phase = 'open'
  return { ...service, stop: stopOnce(cleanup.move(), () => drain('closing')) }
}
