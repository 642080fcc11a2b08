import { useQuery } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { Loaded, Skeleton } from '../ui/states.tsx'
import { answers, loadFile, loadStylesAgain } from './load-page.ts'

/**
 * A part of a page whose file is loaded when the part is first shown. Where the file cannot be loaded, the page stays and
 * Try again stands in the place of the part. The part also tries again when it is shown the next time.
 */
export function LazyPart<File>({
  name,
  load,
  lines,
  children,
}: {
  readonly name: string
  readonly load: () => Promise<File>
  /** The height of the skeleton. */
  readonly lines: number
  readonly children: (file: File) => ReactNode
}) {
  const { data, error, refetch } = useQuery({
    queryKey: ['file', name],
    queryFn: () => {
      loadStylesAgain()
      return loadFile(load)
    },
    staleTime: Number.POSITIVE_INFINITY,
    retry: false,
  })
  const tryAgain = async () => {
    const { isError } = await refetch()
    // A service that answers has no such file any more: it was upgraded, and its own portal shows the part.
    if (isError && (await answers(location.href))) location.reload()
  }
  return (
    <Loaded query={{ data, error, refetch: tryAgain }} skeleton={<Skeleton lines={lines} />}>
      {children}
    </Loaded>
  )
}
