import { Link } from '@tanstack/react-router'
import { KeyRound, type LucideIcon, Plug, Terminal } from 'lucide-react'
import { type ReactNode, useState } from 'react'
import type { QueryableDatabase } from '../../api/masking.ts'
import { t } from '../../texts/index.ts'
import { CodeBlock, CopyButton } from '../../ui/copy.tsx'
import { SelectField } from '../../ui/field.tsx'
import { Card } from '../../ui/page.tsx'
import './connect.css'

type Gateway = QueryableDatabase['properties']['gateway']

/** The ways for a person to log in at the gateway with programs of their own. */
export function Connect({ databases }: { readonly databases: readonly QueryableDatabase[] }) {
  const [chosen, setChosen] = useState('')
  const database = databases.find(({ id }) => id === chosen) ?? databases[0]
  if (!database) return null
  const { gateway } = database.properties
  const facts: readonly [string, string][] = [
    [t.connect.host, gateway.host],
    [t.connect.port, String(gateway.port)],
    [t.connect.database, gateway.database],
    [t.connect.user, gateway.user],
  ]
  return (
    <Card title={t.connect.title}>
      <div className="stack">
        {databases.length > 1 && (
          <SelectField
            label={t.databases.name}
            value={database.id}
            onChange={setChosen}
            choices={databases.map((one) => ({ value: one.id, label: labelOf(one) }))}
          />
        )}
        <dl className="facts across">
          {facts.map(([name, value]) => (
            <div key={name}>
              <dt>{name}</dt>
              <dd className="line">
                <code>{value}</code>
                <CopyButton text={value} label={t.connect.copy(name)} />
              </dd>
            </div>
          ))}
        </dl>
        <Way icon={Terminal} title={t.connect.byCommand} text={t.connect.byCommandText}>
          <CodeBlock label={t.connect.byCommand} text={writeCommands(gateway)} />
        </Way>
        <Way icon={KeyRound} title={t.connect.byToken} text={t.connect.byTokenText}>
          <CodeBlock label={t.connect.byToken} text={writePsql(gateway)} />
        </Way>
        <Way icon={Plug} title={t.connect.byCredential} text={t.connect.byCredentialText}>
          <Link className="button" to="/credentials" search={{ new: '1' }}>
            {t.credentials.create}
          </Link>
        </Way>
        <p className="faint small">
          {t.connect.hintCa} {t.connect.hintBalancer}
        </p>
      </div>
    </Card>
  )
}

function labelOf({ name, properties }: QueryableDatabase): string {
  const { subscriptionId, resourceGroupName, serverName } = properties
  return [subscriptionId, resourceGroupName, serverName, name].join(' / ')
}

function Way({
  icon: Icon,
  title,
  text,
  children,
}: {
  readonly icon: LucideIcon
  readonly title: string
  readonly text: string
  readonly children: ReactNode
}) {
  return (
    <section className="way">
      <div className="stack tight">
        <h3 className="line">
          <Icon size={14} aria-hidden />
          {title}
        </h3>
        <p className="quiet small">{text}</p>
      </div>
      {children}
    </section>
  )
}

/** The command line finds the gateway itself where it is on the usual port of the same host. */
function writeCommands({ host, port, database }: Gateway): string {
  const place = port === 6432 ? '' : ` --gateway ${host.includes(':') ? `[${host}]` : host}:${port}`
  return `masquerade login --url ${location.origin}\nmasquerade psql${place} ${quote(database)}`
}

function writePsql({ host, port, database, user }: Gateway): string {
  return [
    'export PGPASSWORD=$(masquerade login --token)',
    'export PGSSLMODE=verify-full PGSSLROOTCERT=masquerade-ca.pem',
    `psql -h ${host} -p ${port} -U ${quote(user)} -d ${quote(database)}`,
  ].join('\n')
}

/** As a shell takes it: o'brien@example.com → 'o'\\''brien@example.com'. */
function quote(text: string): string {
  return /^[\w@.+/-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`
}
