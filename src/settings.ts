import { availableParallelism } from 'node:os'
import { resolve } from 'node:path'
import { readHostEntry } from './kernel/network.ts'
import { OperatorError } from './kernel/operator-error.ts'
import {
  directory,
  file,
  flag,
  list,
  networks,
  port,
  readUrl,
  type Setting,
  whole,
} from './kernel/setting.ts'

const logLevels = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const

/** Every setting, in the order in which `docs/settings.md` lists them. The environment variable is MASQUERADE_<name>. */
const schema = {
  HOST: {
    doc: 'Address to listen on. The default is this machine alone.',
    default: '127.0.0.1',
    allowed: 'an IP address or host name',
    read: (text) => (/^[\w.:-]{1,253}$/.test(text) ? text : undefined),
  } satisfies Setting<string>,
  HTTP_PORT: port('8080', 'Port of the HTTP server.'),
  HTTPS_PORT: port('8443', 'Port of the HTTPS server.'),
  HTTP_WORKERS: whole(
    '1',
    1,
    64,
    'Processes that serve HTTP for this node: as many as there are processor cores to spare. Each has its own connections to the store and its own memberships in memory. 1: the service itself serves.',
  ),
  GATEWAY_PORT: port('6432', 'Port of the PostgreSQL gateway.'),
  GATEWAY_WORKERS: {
    doc: 'Processes that share the sessions of the gateway. `auto`: one for each core that this process may use, at most 8. 1, and `auto` on one core: the service itself has the sessions.',
    default: 'auto',
    allowed: '`auto`, or a whole number from 1 to 64',
    read: (text) =>
      text === 'auto' ? Math.min(8, availableParallelism()) : whole('1', 1, 64, '').read(text),
  } satisfies Setting<number>,
  GATEWAY_CONNECTIONS: whole('500', 1, 100_000, 'Sessions that the gateway of this node serves at once.'),
  GATEWAY_CONNECTIONS_PER_ROLE: whole(
    '100',
    1,
    100_000,
    'How many of them may be of one role, or of one person or application of the directory.',
  ),
  GATEWAY_IDLE_SECONDS: whole(
    '0',
    0,
    604_800,
    'After how long the gateway ends a session that does nothing; 0: never.',
  ),
  GATEWAY_PROXIES: networks(
    "Addresses and networks of proxies in front of the gateway. A connection from one of them begins with the client's address by PROXY protocol version 2, and is refused without; limits and audit go by that address. Such a header from elsewhere is refused.",
  ),
  GATEWAY_STARTUP_SECONDS: whole(
    '30',
    1,
    600,
    'How long a client may take from connecting to being logged in.',
  ),
  GATEWAY_MESSAGE_BYTES: whole(
    '1073741823',
    65_536,
    1_073_741_823,
    'The longest message that a client may send, a statement or a row of COPY for example. The default is what PostgreSQL itself takes.',
  ),
  GATEWAY_PLAINTEXT: flag('0', 'Clients on other machines may use the gateway without TLS.'),
  GATEWAY_WEAK_LOGIN: flag(
    '0',
    'The gateway passes on logins by cleartext or MD5 password, logins by SCRAM with fewer than 4096 rounds, and logins for which the database asks no password at all.',
  ),
  GATEWAY_MASKED_COPIES: flag(
    '0',
    'Masked roles may store what they read of masked columns, which are masks, in tables and columns without a mask.',
  ),
  GATEWAY_MASK_NOTICES: flag(
    '0',
    'The gateway tells a session by a NOTICE, once for each relation, that it reads masked values there. Exempt roles are told nothing.',
  ),
  GATEWAY_UNBOUND: flag(
    '0',
    'The gateway passes clients on to databases that are not bound, on servers of bound ones. There is no mask there, and no directory account is let in.',
  ),
  MEMBERSHIP_MEMORY_MB: whole(
    '1024',
    0,
    1_048_576,
    'What the index of memberships may take of memory; a directory that needs more is asked in SQL. 0: no index.',
  ),
  DATA_DIR: {
    doc: 'Directory for everything the service keeps: the embedded database, keys, certificates, the log.',
    default: './data',
    allowed: 'the path of a directory',
    read: (text) => (text.includes('\0') ? undefined : resolve(text)),
  } satisfies Setting<string>,
  DATABASE_URL: {
    doc: 'A PostgreSQL 14 or later to use instead of the embedded one.',
    default: undefined,
    allowed: 'a URL such as postgres://user:password@host:5432/database',
    secret: true,
    read: (text) => readUrl(text, ['postgres:', 'postgresql:']),
  } as Setting<string | undefined>,
  DATABASE_POOL_SIZE: whole(
    '10',
    1,
    500,
    'Connections that this node keeps to its database. Up to two more ask again whether the caller of a directory write may, where that is in doubt.',
  ),
  EMBEDDED_PORT: port('0', 'Loopback port of the embedded PostgreSQL.'),
  PUBLIC_URL: {
    doc: 'The HTTPS address under which clients reach the service, when it is not the listening address; tokens are issued in its name.',
    default: undefined,
    allowed: 'an https URL without a path',
    read: (text) => {
      const url = readUrl(text, ['https:', 'http:'])
      return url && new URL(url).pathname === '/' && !new URL(url).search ? url.replace(/\/$/, '') : undefined
    },
  } as Setting<string | undefined>,
  TRUSTED_PROXIES: networks(
    'Addresses and networks of HTTP proxies whose `X-Forwarded-For`, `-Proto` and `-Host` are believed. From any other address these headers are ignored.',
  ),
  TLS_CERT_FILE: file(
    'PEM file with the certificate chain for HTTPS. Unset: a local CA is generated and used.',
  ),
  TLS_KEY_FILE: file('PEM file with the private key of that certificate.'),
  TLS_HOST_NAMES: {
    doc: 'Further host names and addresses, separated by commas, for the generated certificate.',
    default: '',
    allowed: 'host names or IP addresses separated by commas',
    read: (text) => {
      const names = list(text)
      return names.every((name) => /^[\w.:*-]{1,253}$/.test(name)) ? names : undefined
    },
  } as Setting<readonly string[]>,
  SECRET_KEY_FILE: file(
    'File with the 32-byte key (raw or base64) that seals secrets in the database; all nodes share it. Unset: `secret.key` in the data directory, made on the first start.',
  ),
  BACKUP_PASSPHRASE: {
    doc: 'Passphrase of `masquerade backup` and `restore`, where neither an option nor a terminal gives it. The service itself does not read it.',
    default: undefined,
    allowed: 'a text',
    secret: true,
    read: (text) => text,
  } as Setting<string | undefined>,
  TENANT_DOMAIN: {
    doc: 'Domain of the tenant, given on the first start: the administrator is `admin@` that domain.',
    default: 'masquerade.local',
    allowed: 'a domain name in lower case',
    read: (text) => (/^(?=.{1,200}$)[a-z0-9-]+(\.[a-z0-9-]+)+$/.test(text) ? text : undefined),
  } satisfies Setting<string>,
  AUDIENCES: {
    doc: 'Resources whose tokens are accepted, beside the address of the service itself, separated by commas.',
    default:
      'api://masquerade,https://graph.microsoft.com,https://management.azure.com,https://management.core.windows.net',
    allowed: 'URIs separated by commas',
    read: (text) => {
      const names = list(text)
      return names.every((name) => URL.canParse(name)) ? names : undefined
    },
  } as Setting<readonly string[]>,
  TRUSTED_ISSUERS_FILE: file(
    'JSON file that lists outside issuers whose tokens are accepted too: docs/tokens.md describes it.',
  ),
  TOKEN_CHECK_SECONDS: whole(
    '5',
    1,
    300,
    'How long a disabled user, a deleted application or a withdrawn permission may still get in on a node that cannot listen to the store: what a token rests on is looked up again after that time. Nodes that listen know at once.',
  ),
  KEY_ROTATION_DAYS: whole('30', 2, 3650, 'After how many days another key signs tokens.'),
  EMULATOR: flag(
    '0',
    'For tests of your own software: unsigned tokens are accepted, and a request without one is the administrator. On a loopback address only.',
  ),
  PROVIDER_ALIASES: {
    doc: 'Other names, separated by commas, that the masking API takes for `Vendor.Sql` in paths; the answer uses the name that was used.',
    default: 'Microsoft.Sql',
    allowed: 'names such as Microsoft.Sql separated by commas',
    read: (text) => {
      const names = list(text)
      return names.every((name) => /^[A-Za-z][A-Za-z0-9]{0,62}\.[A-Za-z][A-Za-z0-9]{0,62}$/.test(name))
        ? names
        : undefined
    },
  } as Setting<readonly string[]>,
  STRICT: flag('0', 'Rules and policies only on servers and databases that were declared before.'),
  BINDING_HOSTS: {
    doc: 'The only hosts, separated by commas, that databases may be bound to: names, `*.example.com` for all below it, addresses, networks such as `10.0.0.0/8`; with a port (`db:5432`, `[::1]:5432`), that port alone. Empty: any host. Link-local, metadata, multicast and unspecified addresses are refused unless an address or network here holds them.',
    default: '',
    allowed: 'host names, IP addresses or networks, with a port or without, separated by commas',
    read: (text) => {
      const hosts = list(text)
      return hosts.every((host) => readHostEntry(host) !== undefined) ? hosts : undefined
    },
  } as Setting<readonly string[]>,
  AUDIT_SECONDS: whole(
    '30',
    1,
    3600,
    'How often each masked database is audited. Between audits counters of PostgreSQL tell of changes, where this is above 12.',
  ),
  LOCK_LIMIT_SECONDS: whole(
    '10',
    1,
    3600,
    'How long a session of a masked role may hold a lock against enforcement until it is ended.',
  ),
  EVERYONE_CREATES: {
    doc: 'Objects that every signed-in person may create through an application with the permission, and then owns: groups, registrations of applications.',
    default: 'groups,applications',
    allowed: '`groups`, `applications`, both separated by a comma, or `none`',
    read: (text) => {
      const names = text === 'none' ? [] : list(text)
      return names.every((name) => name === 'groups' || name === 'applications') ? names : undefined
    },
  } as Setting<readonly string[]>,
  CHANGE_LOG_DAYS: whole(
    '30',
    1,
    3650,
    'How long changes of the directory are kept for delta queries and change notifications. A delta token from before is answered 410: its client reads everything anew. The entries go by whole weeks.',
  ),
  AUDIT_LOG_DAYS: whole(
    '0',
    0,
    36_500,
    'How long audit entries are kept. They go by whole months, when the last entry of a month is that old. 0: for ever.',
  ),
  AUDIT_ARCHIVE_DIR: directory(
    'Directory that a month of the audit is written to, as gzipped lines of JSON, before it goes; a month that cannot be written stays. Unset: it goes without.',
  ),
  SIGN_IN_LOG_DAYS: whole('30', 1, 3650, 'How long sign-ins are kept (`/auditLogs/signIns`).'),
  NOTIFICATION_HOSTS: networks(
    'Addresses and networks that change notifications may go to, beside public ones: this machine (`127.0.0.1`) or private networks such as `10.0.0.0/8`.',
  ),
  DEMO: flag('1', 'Sample data on the first start of the embedded database.'),
  RATE_LIMIT: {
    doc: 'Requests per second that one caller may make; 0 turns the limit off. Unset: off on the embedded database, 100 otherwise.',
    default: undefined,
    allowed: 'a whole number from 0 to 100000',
    read: (text) => (/^\d{1,6}$/.test(text) && Number(text) <= 100_000 ? Number(text) : undefined),
  } as Setting<number | undefined>,
  DRAIN_SECONDS: whole(
    '0',
    0,
    600,
    'How long a node goes on serving after SIGTERM while `/readyz` is 503: longer than balancers take to notice. The files in `deploy/` set it. SIGINT (Ctrl+C) stops at once.',
  ),
  SHUTDOWN_TIMEOUT_SECONDS: whole(
    '20',
    1,
    600,
    'How long a shutdown waits for sessions of the gateway, and then for requests under way.',
  ),
  TRACES_URL: {
    doc: 'Where traces of requests, statements, enforcement and gateway sessions are sent, by OTLP over HTTP, such as `http://collector:4318/v1/traces`. Unset: none are made. Headers come from `OTEL_EXPORTER_OTLP_HEADERS`.',
    default: undefined,
    allowed: 'an http or https URL',
    // Addresses of collectors may hold a key.
    secret: true,
    read: (text) => readUrl(text, ['https:', 'http:']),
  } as Setting<string | undefined>,
  TRACES_PERCENT: whole('100', 0, 100, 'How many of a hundred traces are made.'),
  LOG_LEVEL: {
    doc: 'Least severity that is logged.',
    default: 'info',
    allowed: `one of ${logLevels.join(', ')}`,
    read: (text) => logLevels.find((level) => level === text),
  } as Setting<(typeof logLevels)[number]>,
  LOG_FILE: file(
    'File for the log. Unset: standard error, or `masquerade.log` in the data directory when that is a terminal.',
  ),
} as const

type Schema = typeof schema
type Camel<S extends string> = S extends `${infer Head}_${infer Tail}`
  ? `${Lowercase<Head>}${Capitalize<Camel<Tail>>}`
  : Lowercase<S>
type Value<S> = S extends Setting<infer T> ? T : never

export type Settings = { readonly [N in keyof Schema & string as Camel<N>]: Value<Schema[N]> }

export const settingEntries = Object.entries(schema) as [string, Setting<unknown>][]
export const prefix = 'MASQUERADE_'

/** Reads and checks every setting; all that is wrong is said at once, a line each. */
export function readSettings(environment: NodeJS.ProcessEnv): Settings {
  const faults = unknownNames(environment)
  const values: Record<string, unknown> = {}
  for (const [name, setting] of settingEntries) {
    const sent = environment[prefix + name]
    const text = sent === undefined || sent === '' ? setting.default : sent
    const value = text === undefined ? undefined : setting.read(text)
    if (text !== undefined && value === undefined) faults.push(describeFault(name, text, setting))
    values[camel(name)] = value
  }
  if ((values.tlsCertFile === undefined) !== (values.tlsKeyFile === undefined))
    faults.push(`${prefix}TLS_CERT_FILE and ${prefix}TLS_KEY_FILE must be set together.`)
  if (faults.length > 0) throw new OperatorError(faults.join('\n'), { exitCode: 2 })
  return values as unknown as Settings
}

function describeFault(name: string, text: string, setting: Setting<unknown>): string {
  const shown = setting.secret ? 'the value (not shown)' : `'${text.slice(0, 100)}'`
  return `${prefix}${name}: ${shown} is not allowed. Allowed: ${setting.allowed}.`
}

function unknownNames(environment: NodeJS.ProcessEnv): string[] {
  return Object.keys(environment)
    .filter((name) => name.startsWith(prefix) && !name.startsWith(`${prefix}TEST_`))
    .filter((name) => !Object.hasOwn(schema, name.slice(prefix.length)))
    .map((name) => `${name} is not a setting. docs/settings.md lists them all.`)
}

export function camel(name: string): string {
  return name.toLowerCase().replaceAll(/_(\w)/g, (_whole, letter: string) => letter.toUpperCase())
}
