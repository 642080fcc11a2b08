import { useQuery } from '@tanstack/react-query'
import { useNavigate, useSearch } from '@tanstack/react-router'
import { Plug, Plus } from 'lucide-react'
import { useState } from 'react'
import { credentialsQuery, type DatabaseCredential, revokeCredential } from '../../api/credentials.ts'
import { allows, permissionsQuery } from '../../api/masking.ts'
import { type Change, ChangeDrawer } from '../../change/change-drawer.tsx'
import { PrincipalLink } from '../../directory/object-link.tsx'
import { namesOf } from '../../directory/scope-link.tsx'
import { type Secret, SecretDialog } from '../../directory/secret-dialog.tsx'
import { usePerson } from '../../session/person.tsx'
import { t } from '../../texts/index.ts'
import { Badge } from '../../ui/badge.tsx'
import { Button } from '../../ui/button.tsx'
import { CopyButton } from '../../ui/copy.tsx'
import { type Column, DataTable } from '../../ui/data-table.tsx'
import { DateText } from '../../ui/date.tsx'
import { Segments } from '../../ui/field.tsx'
import { Page } from '../../ui/page.tsx'
import { Empty, Loaded } from '../../ui/states.tsx'
import { CreateCredential } from './create-credential.tsx'

/** Passwords for tools: one's own, and those of others for people who may see them. */
export function CredentialsPage() {
  const { show, new: isNew } = useSearch({ from: '/credentials' })
  const navigate = useNavigate({ from: '/credentials' })
  const query = useQuery(credentialsQuery)
  const { data: roles = [], isSuccess: areRolesKnown } = useQuery(permissionsQuery(''))
  const person = usePerson()
  const [change, setChange] = useState<Change>()
  const [secret, setSecret] = useState<Secret>()
  const seesAll = allows(roles, 'Vendor.Authorization/databaseCredentials/read')
  const mayRevokeAll = allows(roles, 'Vendor.Authorization/databaseCredentials/delete')
  const showsAll = seesAll && show === 'all'
  const isOwn = ({ properties }: DatabaseCredential) => properties.principalId === person.id
  const columns: readonly Column<DatabaseCredential>[] = [
    ...(showsAll ? ownerColumns : [describeUserName(person.userPrincipalName)]),
    ...columnsOfAll,
    {
      key: 'revoke',
      header: <span className="visually-hidden">{t.credentials.revoke}</span>,
      isEnd: true,
      cell: (one) =>
        (isOwn(one) || mayRevokeAll) && (
          <Button
            tone="ghost"
            size="small"
            aria-label={t.credentials.revokeOf(one.name)}
            onClick={() => setChange(describeRevocation(one))}
          >
            {t.credentials.revoke}
          </Button>
        ),
    },
  ]
  const beginNew = () => void navigate({ search: { show, new: '1' }, replace: true })
  return (
    <Page
      title={t.credentials.title}
      description={t.credentials.description}
      actions={
        <Button tone="primary" onClick={beginNew}>
          <Plus size={14} aria-hidden />
          {t.credentials.create}
        </Button>
      }
    >
      {seesAll ? (
        <div>
          <Segments
            label={t.credentials.whose}
            value={showsAll ? 'all' : 'own'}
            onChange={(next) =>
              void navigate({ search: next === 'all' ? { show: 'all' } : {}, replace: true })
            }
            choices={[
              { value: 'own', label: t.credentials.own },
              { value: 'all', label: t.credentials.all },
            ]}
          />
        </div>
      ) : (
        areRolesKnown && <p className="quiet small">{t.credentials.othersNeed}</p>
      )}
      <Loaded query={query}>
        {(found) => (
          <DataTable
            label={t.credentials.title}
            columns={columns}
            rows={showsAll ? found : found.filter(isOwn)}
            keyOf={({ id }) => id}
            height="calc(100dvh - 240px)"
            empty={
              <Empty icon={Plug} title={t.credentials.empty}>
                {t.credentials.emptyHint}
              </Empty>
            }
          />
        )}
      </Loaded>
      <CreateCredential
        isOpen={isNew !== undefined}
        onClose={() => void navigate({ search: { show }, replace: true })}
        onMade={setSecret}
      />
      <ChangeDrawer change={change} onClose={() => setChange(undefined)} />
      <SecretDialog secret={secret} onClose={() => setSecret(undefined)} />
    </Page>
  )
}

function describeRevocation(credential: DatabaseCredential): Change {
  const { name } = credential
  return {
    title: t.credentials.revokeTitle(name),
    differences: [{ label: name, before: t.credentials.works, after: t.credentials.revokedState }],
    impact: t.credentials.revokeImpact,
    isDanger: true,
    confirmLabel: t.credentials.revoke,
    doneText: t.credentials.revoked,
    apply: () => revokeCredential(credential),
  }
}

/** The name with which the tool logs in holds the name of the credential. */
function describeUserName(userPrincipalName: string): Column<DatabaseCredential> {
  return {
    key: 'user name',
    header: t.credentials.userName,
    cell: ({ name }) => (
      <span className="line">
        <code>
          {userPrincipalName}+<strong>{name}</strong>
        </code>
        <CopyButton text={`${userPrincipalName}+${name}`} label={t.credentials.copyUserName} />
      </span>
    ),
  }
}

const ownerColumns: readonly Column<DatabaseCredential>[] = [
  { key: 'name', header: t.credentials.name, cell: ({ name }) => <strong>{name}</strong> },
  {
    key: 'owner',
    header: t.credentials.owner,
    cell: ({ properties }) => <PrincipalLink id={properties.principalId} />,
  },
]

const columnsOfAll: readonly Column<DatabaseCredential>[] = [
  {
    key: 'databases',
    header: t.credentials.databases,
    cell: ({ properties: { databases } }) =>
      databases.length === 0 ? (
        <span className="quiet">{t.credentials.everyDatabase}</span>
      ) : (
        <span title={databases.join('\n')}>
          {databases.map((path) => namesOf(path).at(-1) ?? path).join(', ')}
        </span>
      ),
  },
  {
    key: 'ends',
    header: t.credentials.ends,
    cell: ({ properties: { expiresAt } }) => (
      <span className="line">
        <DateText at={expiresAt} isDay />
        {Date.parse(expiresAt) < Date.now() && <Badge tone="bad">{t.credentials.ended}</Badge>}
      </span>
    ),
  },
  {
    key: 'used',
    header: t.credentials.used,
    cell: ({ properties: { lastUsedAt } }) =>
      lastUsedAt === null ? (
        <span className="faint">{t.credentials.never}</span>
      ) : (
        <DateText at={lastUsedAt} isRelative />
      ),
  },
  {
    key: 'created',
    header: t.credentials.created,
    cell: ({ properties }) => <DateText at={properties.createdAt} isRelative />,
  },
]
