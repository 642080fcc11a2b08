import { useQuery } from '@tanstack/react-query'
import { useNavigate, useParams, useSearch } from '@tanstack/react-router'
import { AppWindow, Ellipsis } from 'lucide-react'
import { useState } from 'react'
import {
  type Application,
  applicationQuery,
  isOwn,
  type ServicePrincipal,
  servicePrincipalQuery,
} from '../../api/applications.ts'
import { send } from '../../api/call.ts'
import {
  forgetDirectory,
  type Named,
  ownerFields,
  relationPath,
  useDirectoryList,
} from '../../api/directory.ts'
import { type Change, ChangeDrawer } from '../../change/change-drawer.tsx'
import { CarriedRights } from '../../directory/carried-rights.tsx'
import { OwnerList } from '../../directory/owner-list.tsx'
import { restoreObject } from '../../directory/restore-object.ts'
import { usePerson } from '../../session/person.tsx'
import { Readable, useReads } from '../../session/readable.tsx'
import { useRight } from '../../session/rights.ts'
import { t } from '../../texts/index.ts'
import { Badge } from '../../ui/badge.tsx'
import { IconButton } from '../../ui/button.tsx'
import { Menu } from '../../ui/menu.tsx'
import { NeedsRole } from '../../ui/needs-role.tsx'
import { type Crumb, Page, Tabs } from '../../ui/page.tsx'
import { Empty, Loaded } from '../../ui/states.tsx'
import { ApplicationFacts } from './application-facts.tsx'
import { ApplicationPermissions } from './application-permissions.tsx'
import { ApplicationSecrets } from './application-secrets.tsx'
import '../../directory/directory.css'

const tabs = ['overview', 'secrets', 'permissions', 'owners', 'rights'] as const
type Tab = (typeof tabs)[number]
const crumbs: readonly Crumb[] = [{ label: t.applications.title, link: { to: '/applications' } }]

export function ApplicationPage() {
  return useReads('directory') ? (
    <ReadApplication />
  ) : (
    <Page title={t.applications.title} crumbs={crumbs}>
      <Readable area="directory">{null}</Readable>
    </Page>
  )
}

/** The records of an application: its registration, its service principal, or both. */
export interface Known {
  readonly appId: string
  readonly name: string
  readonly application: Application | undefined
  readonly principal: ServicePrincipal | undefined
}

function ReadApplication() {
  const { appId } = useParams({ from: '/applications/$appId' })
  const registered = useQuery(applicationQuery(appId))
  const principals = useQuery(servicePrincipalQuery(appId))
  if (!registered.data || !principals.data)
    return (
      <Page title={t.applications.title} crumbs={crumbs}>
        <Loaded query={registered}>{() => <Loaded query={principals}>{() => null}</Loaded>}</Loaded>
      </Page>
    )
  const application = registered.data.value[0]
  const principal = principals.data.value[0]
  if (!application && !principal)
    return (
      <Page title={t.states.notFoundTitle} crumbs={crumbs}>
        <div className="card">
          <Empty icon={AppWindow} title={t.states.notFoundTitle}>
            {t.states.notFoundHint}
          </Empty>
        </div>
      </Page>
    )
  const name = (application ?? principal)?.displayName ?? t.directory.unnamed
  return <KnownApplication known={{ appId, name, application, principal }} />
}

function KnownApplication({ known }: { readonly known: Known }) {
  const { tab = 'overview' } = useSearch({ from: '/applications/$appId' })
  const { appId, name, application } = known
  const set = application ? 'applications' : 'servicePrincipals'
  const id = (application ?? known.principal)?.id ?? ''
  const owners = useDirectoryList<Named>(relationPath(`/${set}/${id}/owners`, ownerFields))
  const me = usePerson().id
  const isOwner = owners.query.data?.some((owner) => owner.id === me) ?? false
  const mayChange = (useRight('changeApplication') || isOwner) && !isOwn(appId)
  return (
    <Page
      title={name}
      crumbs={crumbs}
      description={isOwn(appId) ? t.applications.ownHint : application?.description}
      beside={isOwn(appId) && <Badge>{t.applications.own}</Badge>}
      actions={
        mayChange ? (
          <ApplicationActions known={known} />
        ) : (
          !isOwn(appId) && <NeedsRole right="changeApplication" what={t.applications.changing} />
        )
      }
      tabs={
        <Tabs
          label={name}
          items={tabs.map((key) => ({
            label: t.applications[key],
            link: { to: '/applications/$appId', params: { appId }, search: { tab: key } },
          }))}
        />
      }
    >
      {showTab(tabs.find((one) => one === tab) ?? 'overview', known, mayChange)}
    </Page>
  )
}

function showTab(tab: Tab, known: Known, mayChange: boolean) {
  if (tab === 'secrets') return <ApplicationSecrets known={known} mayChange={mayChange} />
  if (tab === 'permissions') return <ApplicationPermissions known={known} />
  const object = known.application ?? known.principal
  if (tab === 'owners' && object)
    return (
      <OwnerList
        set={known.application ? 'applications' : 'servicePrincipals'}
        object={object}
        hint={t.applications.ownersEmptyHint}
        mayChange={mayChange}
      />
    )
  if (tab === 'rights' && known.principal)
    return <CarriedRights set="servicePrincipals" id={known.principal.id} hint={t.applications.rightsHint} />
  return <ApplicationFacts known={known} />
}

function ApplicationActions({ known: { application, name } }: { readonly known: Known }) {
  const navigate = useNavigate()
  const [change, setChange] = useState<Change>()
  if (!application) return null
  const remove: Change = {
    title: t.applications.deleteTitle(name),
    differences: [{ label: t.directory.kinds.application, before: name }],
    impact: t.applications.deleteImpact,
    isDanger: true,
    confirmLabel: t.applications.deleteConfirm,
    doneText: t.applications.deleted,
    async apply() {
      await send('DELETE', `/v1.0/applications/${application.id}`)
      await navigate({ to: '/applications' })
      await forgetDirectory()
    },
    undo: restoreObject('application', application),
  }
  return (
    <>
      <Menu
        trigger={
          <IconButton label={t.directory.actions} tone="plain">
            <Ellipsis size={16} />
          </IconButton>
        }
        items={[{ label: t.applications.delete, isDanger: true, onSelect: () => setChange(remove) }]}
      />
      <ChangeDrawer change={change} onClose={() => setChange(undefined)} />
    </>
  )
}
