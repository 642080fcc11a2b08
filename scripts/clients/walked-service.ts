import { execFileSync } from 'node:child_process'
import { readFile, writeFile } from 'node:fs/promises'
import { connect, createServer, type Server } from 'node:net'
import path from 'node:path'
import { knownPermissions } from '../../src/auth/known-permissions.ts'
import { assignAtRoot } from '../../src/masking/role-assignments/assigned-roles.ts'
import { addApplication, addPerson } from '../../test/support/issuer.ts'
import { startTestService, type TestService } from '../../test/support/service.ts'

const permissions = Object.keys(knownPermissions).filter((name) => name !== 'user_impersonation')

/** The permissions that a person consents to for the applications of the walks. */
const personal = ['openid', 'profile', 'email', 'offline_access', 'User.Read']
/** Nothing listens there: the walks read the code from the address. */
const redirectUri = 'https://client.example/callback'

/** The service on loopback with TLS by its own CA, and an application that may do everything. */
export async function startWalkedService() {
  const service = await startTestService()
  const { database, tenantId, dataDir, listeners } = service
  const { appId, applicationId, secret, servicePrincipalId } = await addApplication(service, {
    permissions,
    consented: personal,
    properties: { web: { redirectUris: [redirectUri] } },
  })
  await database.transaction((tx) => assignAtRoot(tx, tenantId, 'Owner', servicePrincipalId))
  const front = await addApplication(service, {
    consented: personal,
    properties: { isFallbackPublicClient: true },
  })
  const person = await addPerson(service, { mail: 'ada@example.com' })
  await addManyServers(service)
  const forwarder = await forwardUsualPort(listeners.httpsPort)
  const ca = path.join(dataDir, 'walk-ca.pem')
  await writeFile(ca, listeners.ca ?? '')
  return {
    /** Every walk finds the service, its CA and the application here. */
    environment: {
      WALK_ORIGIN: service.httpsOrigin,
      ...(forwarder.listening && { WALK_USUAL_ORIGIN: 'https://localhost' }),
      WALK_TENANT: tenantId,
      WALK_CLIENT: appId,
      WALK_SECRET: secret,
      WALK_REDIRECT: redirectUri,
      WALK_PUBLIC_CLIENT: front.appId,
      WALK_PERSON: person.userPrincipalName,
      WALK_PERSON_ID: person.id,
      WALK_PASSWORD: person.password,
      WALK_CERTIFICATE: await addCertificate(service, applicationId),
      WALK_CA: ca,
      // Read by Node, by requests, by httpx and by Go.
      NODE_EXTRA_CA_CERTS: ca,
      REQUESTS_CA_BUNDLE: ca,
      SSL_CERT_FILE: ca,
    },
    async [Symbol.asyncDispose]() {
      forwarder.close()
      await service[Symbol.asyncDispose]()
    },
  }
}

/** Forwards the usual port of HTTPS, where the machine lets us: some clients keep tokens for authorities there alone. */
async function forwardUsualPort(port: number): Promise<Server> {
  const server = createServer((client) => {
    const upstream = connect(port, '127.0.0.1')
    client.pipe(upstream).pipe(client)
    client.on('error', () => upstream.destroy())
    upstream.on('error', () => client.destroy())
  })
  await new Promise<void>((resolve) => {
    server.once('error', () => resolve())
    server.listen(443, '127.0.0.1', () => resolve())
  })
  return server
}

/** One server more than a page has, in the subscription `many`. */
async function addManyServers({ database, tenantId }: TestService): Promise<void> {
  const path = '/subscriptions/many/resourceGroups/group/providers/Vendor.Sql/servers/s'
  await database.sql`
    insert into server (tenant_id, key, subscription_id, resource_group, name, location)
    select ${tenantId}, lower(${path} || n), 'many', 'group', 's' || n, 'here' from generate_series(1, 1001) as n`
}

/** A file with a key and its certificate, which the application has as a credential. */
async function addCertificate(service: TestService, applicationId: string): Promise<string> {
  const file = path.join(service.dataDir, 'walk-certificate.pem')
  const options = ['-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '2', '-subj', '/CN=walk']
  execFileSync('openssl', ['req', ...options, '-keyout', file, '-out', `${file}.crt`], { stdio: 'ignore' })
  const certificate = await readFile(`${file}.crt`, 'utf8')
  await writeFile(file, (await readFile(file, 'utf8')) + certificate)
  const key = certificate.replaceAll(/-----[^-]+-----|\s/g, '')
  const { tokenFor, request } = service
  const token = tokenFor({ kind: 'application', permissions })
  const body = { keyCredentials: [{ type: 'AsymmetricX509Cert', usage: 'Verify', key }] }
  const { status, text } = await request('PATCH', `/v1.0/applications/${applicationId}`, { token, body })
  if (status !== 204) throw new Error(`the certificate was not taken: ${text}`)
  return file
}
