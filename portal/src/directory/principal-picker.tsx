import { useQuery } from '@tanstack/react-query'
import { Check } from 'lucide-react'
import { useState } from 'react'
import { directoryPath, type Listed, type Named, objectQuery, searchFor } from '../api/directory.ts'
import { t } from '../texts/index.ts'
import { useDebounced } from '../ui/debounced.ts'
import { SearchField } from '../ui/field.tsx'
import { FaultNotice } from '../ui/states.tsx'
import { ObjectIcon } from './object-link.tsx'

export type Pickable = 'users' | 'groups' | 'servicePrincipals'

const found = 8
const types: Readonly<Record<Pickable, string>> = {
  users: '#vendor.graph.user',
  groups: '#vendor.graph.group',
  servicePrincipals: '#vendor.graph.servicePrincipal',
}
const fields: Readonly<Record<Pickable, string>> = {
  users: 'id,displayName,userPrincipalName',
  groups: 'id,displayName,description',
  servicePrincipals: 'id,displayName,appId',
}

function pickPath(set: Pickable, text: string): string {
  const search =
    set === 'users' ? searchFor(text, 'displayName', 'userPrincipalName') : searchFor(text, 'displayName')
  return directoryPath(`/${set}`, {
    $top: String(found),
    $select: fields[set],
    ...(search === undefined ? { $orderby: 'displayName' } : { $search: search }),
  })
}

/** Finds principals on the server while the person types; one or several are picked. */
export function PrincipalPicker({
  label,
  sets,
  picked,
  onPick,
  isMultiple = false,
}: {
  readonly label: string
  readonly sets: readonly Pickable[]
  readonly picked: readonly Named[]
  readonly onPick: (picked: readonly Named[]) => void
  readonly isMultiple?: boolean
}) {
  const [text, setText] = useState('')
  const settled = useDebounced(text)
  const { data: found, error } = useQuery({
    queryKey: ['directory', 'pick', sets, settled],
    queryFn: async ({ client }) => {
      const lists = await Promise.all(
        sets.map(async (set) => {
          const { value } = await client.fetchQuery(objectQuery<Listed<Named>>(pickPath(set, settled)))
          return value.map((one): Named => ({ ...one, '@odata.type': types[set] }))
        }),
      )
      return lists.flat()
    },
    placeholderData: (before) => before,
  })
  const data = found ?? []
  const isPicked = ({ id }: Named) => picked.some((one) => one.id === id)
  const toggle = (one: Named) => {
    if (isPicked(one)) onPick(picked.filter(({ id }) => id !== one.id))
    else onPick(isMultiple ? [...picked, one] : [one])
  }
  const others = picked.filter((one) => !data.some(({ id }) => id === one.id))
  return (
    <fieldset className="field picker">
      <legend className="label">{label}</legend>
      <SearchField
        label={label}
        placeholder={t.directory.pickHint}
        value={text}
        onChange={(event) => setText(event.target.value)}
        // Enter confirms a drawer; here the person is still looking.
        onKeyDown={(event) => event.key === 'Enter' && event.preventDefault()}
      />
      <div className="picker-list">
        {[...others, ...data].map((one) => (
          <button
            key={one.id}
            type="button"
            className="picker-option"
            aria-pressed={isPicked(one)}
            onClick={() => toggle(one)}
          >
            <ObjectIcon object={one} />
            <span className="truncate">{one.displayName ?? one.id}</span>
            <span className="faint small truncate">{one.userPrincipalName ?? one.description}</span>
            {isPicked(one) && <Check size={14} aria-hidden />}
          </button>
        ))}
        {error && <FaultNotice error={error} />}
        {found?.length === 0 && others.length === 0 && (
          <p className="quiet small" role="status">
            {t.shell.nothingFound}
          </p>
        )}
      </div>
    </fieldset>
  )
}
