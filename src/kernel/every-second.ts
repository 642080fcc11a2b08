const hearers = new Set<() => void>()
let timer: NodeJS.Timeout | undefined

/**
 * One timer for all that looks each second: in an idle process a wake costs more than what it does. Returns the function that ends it.
 */
export function everySecond(hear: () => void): () => void {
  const own = () => hear()
  hearers.add(own)
  timer ??= setInterval(() => {
    for (const one of hearers) one()
  }, 1_000).unref()
  return () => {
    hearers.delete(own)
    if (hearers.size > 0) return
    clearInterval(timer)
    timer = undefined
  }
}
