import { useSearch } from '@tanstack/react-router'
import { Readable } from '../../session/readable.tsx'
import { t } from '../../texts/index.ts'
import { Page, Tabs } from '../../ui/page.tsx'
import { DirectoryRoles } from './directory-roles.tsx'
import { MaskingRoles } from './masking-roles.tsx'
import '../../directory/directory.css'

export function RolesPage() {
  const { tab = 'directory' } = useSearch({ from: '/roles' })
  return (
    <Page
      title={t.roles.title}
      description={t.roles.description}
      tabs={
        <Tabs
          label={t.roles.title}
          items={[
            { label: t.roles.directory, link: { to: '/roles', search: { tab: 'directory' } } },
            { label: t.roles.masking, link: { to: '/roles', search: { tab: 'masking' } } },
          ]}
        />
      }
    >
      {tab === 'masking' ? (
        <MaskingRoles />
      ) : (
        <Readable area="directory">
          <DirectoryRoles />
        </Readable>
      )}
    </Page>
  )
}
