import { useQuery } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { Dialog } from 'radix-ui'
import { Fragment, type KeyboardEvent, useEffect, useId, useRef, useState } from 'react'
import { usePerson } from '../session/person.tsx'
import { t } from '../texts/index.ts'
import { useDebounced } from '../ui/debounced.ts'
import { type Entry, findActions, findEntries, findPlaces } from './palette-entries.ts'

/** Finds pages, actions, databases, tables, columns, rules, people and groups by typing. Arrows choose, Enter goes there. */
export function Palette({ isOpen, onClose }: { readonly isOpen: boolean; readonly onClose: () => void }) {
  return (
    <Dialog.Root open={isOpen} onOpenChange={(next) => !next && onClose()}>
      <Dialog.Portal>
        <Dialog.Overlay className="scrim" />
        <Dialog.Content className="palette" aria-describedby={undefined}>
          <Dialog.Title className="visually-hidden">{t.shell.search}</Dialog.Title>
          <Finding onClose={onClose} />
        </Dialog.Content>
      </Dialog.Portal>
    </Dialog.Root>
  )
}

function Finding({ onClose }: { readonly onClose: () => void }) {
  const [text, setText] = useState('')
  const [position, setPosition] = useState(0)
  const navigate = useNavigate()
  const listId = useId()
  const wanted = useDebounced(text)
  const person = usePerson()
  const { data: found = [], isFetching } = useQuery({
    queryKey: ['palette', wanted],
    queryFn: ({ signal }) => findEntries(wanted, signal),
    placeholderData: (before) => before,
    staleTime: 30_000,
  })
  const entries = [...findPlaces(text), ...findActions(text, person), ...(text.trim() === '' ? [] : found)]
  const chosen = entries[Math.min(position, entries.length - 1)]
  const go = (entry: Entry | undefined) => {
    if (!entry) return
    onClose()
    void navigate(entry.link)
  }
  const onKeyDown = (event: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key]
    if (event.key === 'Enter') go(chosen)
    if (step === undefined || entries.length === 0) return
    event.preventDefault()
    setPosition((Math.min(position, entries.length - 1) + step + entries.length) % entries.length)
  }
  return (
    <>
      <input
        className="palette-input"
        role="combobox"
        aria-label={t.shell.search}
        aria-expanded
        aria-controls={listId}
        aria-activedescendant={chosen ? `${listId}-${chosen.key}` : undefined}
        placeholder={t.shell.search}
        value={text}
        onKeyDown={onKeyDown}
        onChange={(event) => {
          setText(event.target.value)
          setPosition(0)
        }}
      />
      <Choices id={listId} entries={entries} chosen={chosen} onChoose={go} onPoint={setPosition} />
      {entries.length === 0 && (
        <p className="empty quiet" role="status">
          {isFetching ? t.states.loading : t.shell.nothingFound}
        </p>
      )}
    </>
  )
}

function Choices({
  id,
  entries,
  chosen,
  onChoose,
  onPoint,
}: {
  readonly id: string
  readonly entries: readonly Entry[]
  readonly chosen: Entry | undefined
  readonly onChoose: (entry: Entry) => void
  readonly onPoint: (position: number) => void
}) {
  const list = useRef<HTMLDivElement>(null)
  useEffect(() => {
    if (chosen) list.current?.querySelector('[aria-selected="true"]')?.scrollIntoView({ block: 'nearest' })
  }, [chosen])
  return (
    <div className="palette-list" role="listbox" id={id} aria-label={t.shell.search} ref={list}>
      {entries.map((entry, position) => (
        <Fragment key={entry.key}>
          {entry.group !== entries[position - 1]?.group && (
            <p className="menu-label" aria-hidden>
              {entry.group}
            </p>
          )}
          {/* biome-ignore lint/a11y/useFocusableInteractive: the input keeps the focus and names the active option */}
          {/* biome-ignore lint/a11y/useKeyWithClickEvents: the input handles the keys */}
          <div
            id={`${id}-${entry.key}`}
            role="option"
            aria-selected={entry === chosen}
            className="menu-item"
            onClick={() => onChoose(entry)}
            onPointerMove={() => onPoint(position)}
          >
            <span className="truncate">{entry.label}</span>
            {entry.hint && <span className="faint small truncate">{entry.hint}</span>}
          </div>
        </Fragment>
      ))}
    </div>
  )
}
