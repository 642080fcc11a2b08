import { Link } from '@tanstack/react-router'
import { AppWindow } from 'lucide-react'
import { type Application, applicationsPath, isOwn } from '../../api/applications.ts'
import { type ListOf, ListPage } from '../../directory/list-page.tsx'
import { ObjectIcon } from '../../directory/object-link.tsx'
import { t } from '../../texts/index.ts'
import { Badge } from '../../ui/badge.tsx'
import type { Column } from '../../ui/data-table.tsx'
import { DateText } from '../../ui/date.tsx'
import { RegisterApplication } from './register-application.tsx'

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

const list: ListOf<Application> = {
  texts: t.applications,
  icon: AppWindow,
  area: 'directory',
  create: {
    label: t.applications.register,
    right: 'registerApplication',
    needs: t.applications.registering,
  },
  pathOf: applicationsPath,
  columns,
  states: t.directory.states,
  restore: { right: 'changeApplication', kind: 'application' },
}

export function ApplicationsPage() {
  return <ListPage list={list} renderForm={(form) => <RegisterApplication {...form} />} />
}
