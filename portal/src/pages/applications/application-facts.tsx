import { usePerson } from '../../session/person.tsx'
import { t } from '../../texts/index.ts'
import { CopyButton } from '../../ui/copy.tsx'
import { DateText } from '../../ui/date.tsx'
import { Card } from '../../ui/page.tsx'
import type { Known } from './application-page.tsx'

export function ApplicationFacts({ known: { appId, application } }: { readonly known: Known }) {
  const { tenantId } = usePerson()
  const endpoint = `${location.origin}/${tenantId}/oauth2/v2.0/token`
  const addresses = [application?.web, application?.spa, application?.publicClient].flatMap(
    (client) => client?.redirectUris ?? [],
  )
  const copied: readonly [string, string][] = [
    [t.applications.clientId, appId],
    [t.applications.tenant, tenantId],
    [t.applications.tokenEndpoint, endpoint],
  ]
  return (
    <Card title={t.applications.overview}>
      <dl className="facts">
        {copied.map(([label, value]) => (
          <div className="fact" key={label}>
            <dt>{label}</dt>
            <dd>
              <code>{value}</code> <CopyButton text={value} />
            </dd>
          </div>
        ))}
        <div className="fact">
          <dt>{t.applications.redirects}</dt>
          <dd>
            {addresses.length === 0 ? (
              <span className="faint">–</span>
            ) : (
              addresses.map((address) => (
                <div key={address}>
                  <code>{address}</code>
                </div>
              ))
            )}
          </dd>
        </div>
        <div className="fact">
          <dt>{t.directory.created}</dt>
          <dd>
            <DateText at={application?.createdDateTime} />
          </dd>
        </div>
      </dl>
    </Card>
  )
}
