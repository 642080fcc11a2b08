import type { ReactNode } from 'react'
import { type Named, ownedFields, relationPath, type User, useDirectoryList } from '../../api/directory.ts'
import { ObjectLink } from '../../directory/object-link.tsx'
import { useReads } from '../../session/readable.tsx'
import { t } from '../../texts/index.ts'
import { CopyButton } from '../../ui/copy.tsx'
import { DateText } from '../../ui/date.tsx'
import { Card } from '../../ui/page.tsx'

export function PersonProfile({ user }: { readonly user: User }) {
  const rows: readonly [string, string | null][] = [
    [t.persons.givenName, user.givenName],
    [t.persons.surname, user.surname],
    [t.persons.jobTitle, user.jobTitle],
    [t.persons.department, user.department],
    [t.persons.company, user.companyName],
    [t.persons.office, user.officeLocation],
    [t.persons.mail, user.mail],
    [t.persons.phone, user.mobilePhone],
  ]
  return (
    <div className="two-columns">
      <Card title={t.persons.profile}>
        <dl className="facts">
          {rows.map(([label, value]) => (
            <Fact key={label} label={label}>
              {value ?? <span className="faint">–</span>}
            </Fact>
          ))}
        </dl>
      </Card>
      <div className="stack">
        <Card title={t.persons.account}>
          <dl className="facts">
            <Fact label={t.persons.signInName}>{user.userPrincipalName}</Fact>
            <Fact label={t.directory.type}>
              {user.userType === 'Guest' ? t.persons.guest : t.persons.member}
            </Fact>
            <Fact label={t.directory.created}>
              <DateText at={user.createdDateTime} />
            </Fact>
            <Fact label={t.directory.id}>
              <code>{user.id}</code> <CopyButton text={user.id} />
            </Fact>
          </dl>
        </Card>
        {useReads('directory') && <Owned userId={user.id} />}
      </div>
    </div>
  )
}

function Fact({ label, children }: { readonly label: string; readonly children: ReactNode }) {
  return (
    <>
      <dt>{label}</dt>
      <dd>{children}</dd>
    </>
  )
}

function Owned({ userId }: { readonly userId: string }) {
  const { query } = useDirectoryList<Named>(relationPath(`/users/${userId}/ownedObjects`, ownedFields))
  if (!query.data || query.data.length === 0) return null
  return (
    <Card title={t.persons.owns}>
      <ul className="stack tight">
        {query.data.map((object) => (
          <li key={object.id}>
            <ObjectLink object={object} />
          </li>
        ))}
      </ul>
    </Card>
  )
}
