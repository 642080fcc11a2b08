import { useNavigate, useSearch } from '@tanstack/react-router'
import { useMemo, useState } from 'react'
import { joinNames, splitNames } from './search.ts'

/** A longer address is cut by some chats and mail programs. */
const longestText = 1500

/**
 * The selected rows of a list, in the address as `selected`, so that a link and the way back hold them. A selection that is too
 * long for an address lasts as long as the page.
 */
export function useSelected() {
  const { selected: listed = '' }: { selected?: string | undefined } = useSearch({ strict: false })
  const navigate = useNavigate()
  const [many, setMany] = useState<ReadonlySet<string>>()
  const named = useMemo(() => new Set(splitNames(listed)), [listed])
  const select = (next: ReadonlySet<string>) => {
    const text = joinNames(next)
    const fits = text.length <= longestText
    setMany(fits ? undefined : next)
    void navigate({
      to: '.',
      search: (before) => ({ ...before, selected: fits && text !== '' ? text : undefined }) as never,
      replace: true,
    })
  }
  return { selected: many ?? named, select }
}
