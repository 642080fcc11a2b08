import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { KeyRound, UserRoundSearch } from 'lucide-react'
import { useState } from 'react'
import { type TablePlace, type TableRole, tableRolesQuery } from '../../api/catalog.ts'
import { PrincipalPicker } from '../../directory/principal-picker.tsx'
import { useReads } from '../../session/readable.tsx'
import { t } from '../../texts/index.ts'
import { Button } from '../../ui/button.tsx'
import { useDebounced } from '../../ui/debounced.ts'
import { SearchField, Segments } from '../../ui/field.tsx'
import { Dialog } from '../../ui/layers.tsx'
import { useDatabasePlace, useRights } from './use-database.ts'

/** The button that lends the preview the eyes of a person or of a database role, as far as the reader may inspect them. */
export function SeeAs({
  table,
  onPerson,
  onRole,
}: {
  readonly table: TablePlace
  readonly onPerson: (id: string) => void
  readonly onRole: (role: string) => void
}) {
  const mayInspectPeople = useReads('directory')
  const { mayRead: mayInspectRoles } = useRights()
  const [isOpen, setOpen] = useState(false)
  const [wanted, setWanted] = useState<'person' | 'role'>('person')
  if (!mayInspectPeople && !mayInspectRoles) return null
  const kind = mayInspectPeople && mayInspectRoles ? wanted : mayInspectPeople ? 'person' : 'role'
  const pick = (look: () => void) => {
    setOpen(false)
    look()
  }
  return (
    <>
      <Button size="small" onClick={() => setOpen(true)}>
        <UserRoundSearch size={13} aria-hidden />
        {t.data.seeAs}
      </Button>
      <Dialog
        title={t.data.seeAsTitle}
        description={t.data.seeAsHint}
        isOpen={isOpen}
        onClose={() => setOpen(false)}
      >
        <div className="stack">
          {mayInspectPeople && mayInspectRoles && (
            <Segments
              label={t.data.seeAsKind}
              value={kind}
              onChange={setWanted}
              choices={[
                { value: 'person', label: t.data.person },
                { value: 'role', label: t.data.role },
              ]}
            />
          )}
          {kind === 'person' ? (
            <PrincipalPicker
              label={t.data.person}
              sets={['users']}
              picked={[]}
              onPick={([picked]) => picked && pick(() => onPerson(picked.id))}
            />
          ) : (
            <RolePicker table={table} onPick={(role) => pick(() => onRole(role))} />
          )}
        </div>
      </Dialog>
    </>
  )
}

function RolePicker({
  table,
  onPick,
}: {
  readonly table: TablePlace
  readonly onPick: (role: string) => void
}) {
  const place = useDatabasePlace()
  const [text, setText] = useState('')
  const { data } = useQuery({
    ...tableRolesQuery(place, table, useDebounced(text).trim()),
    placeholderData: keepPreviousData,
  })
  return (
    <fieldset className="field picker">
      <legend className="label">{t.data.role}</legend>
      <SearchField label={t.data.findRole} value={text} onChange={(event) => setText(event.target.value)} />
      <div className="picker-list">
        {data?.map((one) => (
          <button key={one.role} type="button" className="picker-option" onClick={() => onPick(one.role)}>
            <KeyRound size={14} aria-hidden />
            <span className="truncate mono">{one.role}</span>
            <span className="faint small">{describeSight(one)}</span>
          </button>
        ))}
        {data?.length === 0 && (
          <p className="quiet small" role="status">
            {t.data.noRole}
          </p>
        )}
      </div>
    </fieldset>
  )
}

function describeSight({ rawColumns, maskedColumns }: TableRole): string {
  if (maskedColumns.length > 0) return t.data.roleMasked
  return rawColumns.length > 0 ? t.data.roleRaw : t.data.roleNothing
}
