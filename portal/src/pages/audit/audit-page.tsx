import { useNavigate, useSearch } from '@tanstack/react-router'
import { Readable } from '../../session/readable.tsx'
import { t } from '../../texts/index.ts'
import { SelectField, TextField } from '../../ui/field.tsx'
import { Page, Tabs } from '../../ui/page.tsx'
import { DirectoryAudits } from './directory-audits.tsx'
import { MaskingAudits } from './masking-audits.tsx'
import { ScopeField } from './scope-field.tsx'
import { SignIns } from './sign-ins.tsx'
import '../../directory/directory.css'
import './audit.css'

type Times = keyof typeof t.audit.times

export function AuditPage() {
  const filter = useSearch({ from: '/audit' })
  const navigate = useNavigate({ from: '/audit' })
  const { tab = 'directory' } = filter
  const setFilter = (name: string, value: string) => {
    const next = Object.entries({ ...filter, entry: '', [name]: value }).filter(
      ([, text]) => text !== '' && text !== 'all',
    )
    void navigate({ search: Object.fromEntries(next), replace: true })
  }
  return (
    <Page
      title={t.audit.title}
      description={t.audit.description}
      tabs={
        <Tabs
          label={t.audit.title}
          items={(['directory', 'masking', 'signIns'] as const).map((key) => ({
            label: t.audit[key],
            link: { to: '/audit', search: { tab: key } },
          }))}
        />
      }
    >
      <div className="audit-filters">
        <TextField
          label={t.audit.who}
          placeholder={tab === 'masking' ? t.audit.whoName : t.audit.whoHint}
          maxLength={200}
          value={filter.who ?? ''}
          onChange={(event) => setFilter('who', event.target.value)}
        />
        {tab !== 'signIns' && (
          <TextField
            label={t.audit.what}
            placeholder={tab === 'masking' ? t.audit.whatPart : t.audit.whatHint}
            maxLength={200}
            value={filter.what ?? ''}
            onChange={(event) => setFilter('what', event.target.value)}
          />
        )}
        {tab === 'masking' && (
          <ScopeField value={filter.scope ?? ''} onChange={(scope) => setFilter('scope', scope)} />
        )}
        <SelectField
          label={t.audit.when}
          value={(filter.hours ?? 'all') as Times}
          onChange={(hours) => setFilter('hours', hours)}
          choices={(['all', '1', '24', '168', '720'] as const).map((value) => ({
            value,
            label: t.audit.times[value],
          }))}
        />
      </div>
      {tab === 'masking' ? (
        <MaskingAudits filter={filter} />
      ) : (
        <Readable area="logs">
          {tab === 'signIns' ? <SignIns filter={filter} /> : <DirectoryAudits filter={filter} />}
        </Readable>
      )}
    </Page>
  )
}
