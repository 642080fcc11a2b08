import type { ReactNode } from 'react'
import {
  isWhole,
  type Named,
  ownedFields,
  relationPath,
  type User,
  useDirectoryList,
} from '../../api/directory.ts'
import { ObjectLink } from '../../directory/object-link.tsx'
import { useReads } from '../../session/readable.tsx'
import { t } from '../../texts/index.ts'
import { CopyButton } from '../../ui/copy.tsx'
import { DateText } from '../../ui/date.tsx'
import { Card } from '../../ui/page.tsx'
import { Unknown, UnknownHint } from '../../ui/unknown.tsx'

export function PersonProfile({ user }: { readonly user: User }) {
  const none = <span className="faint">–</span>
  const absent = isWhole(user) ? none : <Unknown />
  const rows: readonly [string, ReactNode][] = [
    [t.persons.givenName, user.givenName ?? none],
    [t.persons.surname, user.surname ?? none],
    [t.persons.jobTitle, user.jobTitle ?? absent],
    [t.persons.department, user.department ?? absent],
    [t.persons.company, user.companyName ?? absent],
    [t.persons.office, user.officeLocation ?? absent],
    [t.persons.mail, user.mail ?? none],
    [t.persons.phone, user.mobilePhone ?? absent],
  ]
  const types = { Guest: t.persons.guest, Member: t.persons.member }
  return (
    <>
      {!isWhole(user) && <UnknownHint>{t.persons.unknownHint}</UnknownHint>}
      <div className="two-columns">
        <Card title={t.persons.profile}>
          <dl className="facts">
            {rows.map(([label, value]) => (
              <Fact key={label} label={label}>
                {value}
              </Fact>
            ))}
          </dl>
        </Card>
        <div className="stack">
          <Card title={t.persons.account}>
            <dl className="facts">
              <Fact label={t.persons.signInName}>{user.userPrincipalName}</Fact>
              <Fact label={t.directory.type}>
                {types[user.userType as keyof typeof types] ?? user.userType ?? absent}
              </Fact>
              <Fact label={t.directory.created}>
                {user.createdDateTime ? <DateText at={user.createdDateTime} /> : absent}
              </Fact>
              <Fact label={t.directory.id}>
                <code>{user.id}</code> <CopyButton text={user.id} />
              </Fact>
            </dl>
          </Card>
          {useReads('directory') && <Owned userId={user.id} />}
        </div>
      </div>
    </>
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
