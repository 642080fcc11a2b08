import { useEffect, useState } from 'react'

const pauseMs = 80

/** The value after the person has paused: the service is asked once for a word, not once for a letter. */
export function useDebounced<T>(value: T): T {
  const [settled, setSettled] = useState(value)
  useEffect(() => {
    const timer = setTimeout(() => setSettled(value), pauseMs)
    return () => clearTimeout(timer)
  }, [value])
  return settled
}
