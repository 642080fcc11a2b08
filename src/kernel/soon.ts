/** A value that is mostly there already. A promise for each of them was a measurable part of a request. */
export type Soon<V> = V | Promise<V>

/** Goes on with the value, at once where it is there. */
export function after<V, W>(soon: Soon<V>, next: (value: V) => Soon<W>): Soon<W> {
  return soon instanceof Promise ? soon.then(next) : next(soon)
}
