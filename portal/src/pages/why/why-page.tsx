import { useQuery } from '@tanstack/react-query'
import { useNavigate, useSearch } from '@tanstack/react-router'
import { ArrowDown, CircleHelp, CircleX } from 'lucide-react'
import { Fragment } from 'react'
import { send } from '../../api/call.ts'
import type { Listed, Named } from '../../api/directory.ts'
import { principalQuery } from '../../api/principals.ts'
import { CarriedRights } from '../../directory/carried-rights.tsx'
import { ObjectLink } from '../../directory/object-link.tsx'
import { PrincipalPicker } from '../../directory/principal-picker.tsx'
import { Readable } from '../../session/readable.tsx'
import { t } from '../../texts/index.ts'
import { Card, Page } from '../../ui/page.tsx'
import { Empty, Loaded } from '../../ui/states.tsx'
import './why.css'

/** The chain from the person to the group; null when the person is not in it. */
async function explain(person: string, group: string, signal: AbortSignal): Promise<readonly Named[] | null> {
  const path = `/v1.0/directoryObjects/${encodeURIComponent(person)}`
  const asked = { body: { groupIds: [group] }, signal }
  const { body: among } = await send<Listed<string>>('POST', `${path}/checkMemberGroups`, asked)
  if (among.value.length === 0) return null
  const wanted = { body: { groupId: group }, signal }
  return (await send<Listed<Named>>('POST', `${path}/explainMembership`, wanted)).body.value
}

export function WhyPage() {
  return (
    <Page title={t.why.title} description={t.why.description}>
      <Readable area="directory">
        <Question />
      </Readable>
    </Page>
  )
}

function Question() {
  const { person = '', group = '' } = useSearch({ from: '/why' })
  const navigate = useNavigate({ from: '/why' })
  const chosenPerson = useQuery({ ...principalQuery(person), enabled: person !== '' }).data ?? undefined
  const chosenGroup = useQuery({ ...principalQuery(group), enabled: group !== '' }).data ?? undefined
  const choose = (name: 'person' | 'group') => (picked: readonly Named[]) => {
    const next = { person, group, [name]: picked[0]?.id ?? '' }
    void navigate({ search: Object.fromEntries(Object.entries(next).filter(([, id]) => id !== '')) })
  }
  return (
    <div className="why">
      <div className="stack">
        <PrincipalPicker
          label={t.why.person}
          sets={['users']}
          picked={chosenPerson ? [chosenPerson] : []}
          onPick={choose('person')}
        />
        <PrincipalPicker
          label={t.why.group}
          sets={['groups']}
          picked={chosenGroup ? [chosenGroup] : []}
          onPick={choose('group')}
        />
      </div>
      {person !== '' && group !== '' ? (
        <Chain person={person} group={group} named={chosenPerson} target={chosenGroup} />
      ) : (
        <div className="card">
          <Empty icon={CircleHelp} title={t.why.choose}>
            {t.why.chooseHint}
          </Empty>
        </div>
      )}
    </div>
  )
}

function Chain({
  person,
  group,
  named,
  target,
}: {
  readonly person: string
  readonly group: string
  readonly named: Named | undefined
  readonly target: Named | undefined
}) {
  const query = useQuery({
    queryKey: ['directory', 'why', person, group],
    queryFn: ({ signal }) => explain(person, group, signal),
  })
  const [who, where] = [named?.displayName ?? person, target?.displayName ?? group]
  return (
    <Loaded query={query}>
      {(chain) =>
        chain === null ? (
          <div className="card">
            <Empty icon={CircleX} title={t.why.isNotMember(who, where)}>
              {t.why.notMemberHint}
            </Empty>
          </div>
        ) : (
          <div className="stack">
            <Card title={t.why.isMember(who, where)}>
              <ol className="chain">
                <li>{named ? <ObjectLink object={named} /> : <code>{person}</code>}</li>
                {chain
                  .filter(({ id }) => id !== person)
                  .map((step, index) => (
                    <Fragment key={step.id}>
                      <li className="chain-step small quiet">
                        <ArrowDown size={14} aria-hidden /> {index === 0 ? t.why.directly : t.why.nested}
                      </li>
                      <li>
                        <ObjectLink object={step} />
                      </li>
                    </Fragment>
                  ))}
              </ol>
            </Card>
            <Card title={t.why.gives}>
              <CarriedRights set="groups" id={group} hint={t.groups.rightsHint} />
            </Card>
          </div>
        )
      }
    </Loaded>
  )
}
