import { useNavigate, useSearch } from '@tanstack/react-router'
import { useEffect, useRef, useState } from 'react'
import { joinNames, splitNames } from './search.ts'

/** A longer address is cut by some chats and mail programs. */
const longestText = 1500

/**
 * The selected rows of a list, in the address as `selected`, so that a link and the way back hold them. A selection that is too
 * long for an address lasts as long as the page. The address follows a moment after a click, so the next click builds on what
 * is kept here.
 */
export function useSelected() {
  const { selected: listed = '' }: { selected?: string | undefined } = useSearch({ strict: false })
  const navigate = useNavigate()
  const [selected, setSelected] = useState<ReadonlySet<string>>(() => new Set(splitNames(listed)))
  /** What was written and the address does not have yet. */
  const pending = useRef<string[]>([])
  const shown = useRef(listed)
  useEffect(() => {
    if (shown.current === listed) return
    shown.current = listed
    const at = pending.current.indexOf(listed)
    pending.current.splice(0, at < 0 ? pending.current.length : at + 1)
    if (at < 0) setSelected(new Set(splitNames(listed)))
  }, [listed])
  const select = (next: ReadonlySet<string>) => {
    const text = joinNames(next)
    const kept = text.length <= longestText ? text : ''
    setSelected(next)
    if (kept === (pending.current.at(-1) ?? listed)) return
    pending.current.push(kept)
    void navigate({
      to: '.',
      search: (before) => ({ ...before, selected: kept === '' ? undefined : kept }) as never,
      replace: true,
    })
  }
  return { selected, select }
}
