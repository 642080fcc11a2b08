import { Link, useNavigate, useSearch } from '@tanstack/react-router'
import { AppWindow } from 'lucide-react'
import { useState } from 'react'
import { type Application, applicationsPath, isOwn } from '../../api/applications.ts'
import { useDirectoryList } from '../../api/directory.ts'
import { ObjectIcon } from '../../directory/object-link.tsx'
import { Readable } from '../../session/readable.tsx'
import { useRight } from '../../session/rights.ts'
import { t } from '../../texts/index.ts'
import { Badge } from '../../ui/badge.tsx'
import { Button } from '../../ui/button.tsx'
import { type Column, DataTable } from '../../ui/data-table.tsx'
import { DateText } from '../../ui/date.tsx'
import { useDebounced } from '../../ui/debounced.ts'
import { SearchField } from '../../ui/field.tsx'
import { NeedsRole } from '../../ui/needs-role.tsx'
import { Page } from '../../ui/page.tsx'
import { Empty, Loaded } from '../../ui/states.tsx'
import { RegisterApplication } from './register-application.tsx'
import '../../directory/directory.css'

const columns: readonly Column<Application>[] = [
  {
    key: 'name',
    header: t.directory.name,
    cell: (application) => (
      <span className="object-link">
        <ObjectIcon object={application} />
        <Link to="/applications/$appId" params={{ appId: application.appId }} className="row-link truncate">
          {application.displayName ?? t.directory.unnamed}
        </Link>
        {isOwn(application.appId) && <Badge>{t.applications.own}</Badge>}
      </span>
    ),
  },
  {
    key: 'id',
    header: t.applications.clientId,
    cell: ({ appId }) => <code className="quiet">{appId}</code>,
  },
  {
    key: 'secrets',
    header: t.applications.secretCount,
    isEnd: true,
    cell: ({ passwordCredentials }) => <span className="number">{passwordCredentials.length}</span>,
    width: '100px',
  },
  {
    key: 'created',
    header: t.directory.created,
    cell: ({ createdDateTime }) => <DateText at={createdDateTime} isRelative />,
    width: '140px',
  },
]

export function ApplicationsPage() {
  const [isRegistering, setRegistering] = useState(false)
  const mayRegister = useRight('registerApplication')
  return (
    <Page
      title={t.applications.title}
      description={t.applications.description}
      actions={
        mayRegister ? (
          <Button tone="primary" onClick={() => setRegistering(true)}>
            <AppWindow size={14} aria-hidden />
            {t.applications.register}
          </Button>
        ) : (
          <NeedsRole right="registerApplication" what={t.applications.registering} />
        )
      }
    >
      <Readable area="directory">
        <ApplicationList />
      </Readable>
      <RegisterApplication isOpen={isRegistering} onClose={() => setRegistering(false)} />
    </Page>
  )
}

function ApplicationList() {
  const { q = '' } = useSearch({ from: '/applications' })
  const navigate = useNavigate({ from: '/applications' })
  const { query, more, isStale } = useDirectoryList<Application>(applicationsPath(useDebounced(q)))
  return (
    <Loaded query={query}>
      {(rows) => (
        <>
          <SearchField
            label={t.applications.search}
            value={q}
            onChange={({ target: { value } }) =>
              void navigate({ search: value === '' ? {} : { q: value }, replace: true })
            }
          />
          <div className={isStale ? 'is-stale' : undefined}>
            <DataTable
              label={t.applications.title}
              columns={columns}
              rows={rows}
              keyOf={({ id }) => id}
              more={more}
              height="calc(100dvh - 220px)"
              empty={
                <Empty icon={AppWindow} title={t.applications.none}>
                  {t.applications.noneHint}
                </Empty>
              }
            />
          </div>
        </>
      )}
    </Loaded>
  )
}
