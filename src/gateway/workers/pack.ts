const errorMark = '__error'
const anyNameMark = '__anyName'

/**
 * Makes values sendable that Node cannot send to another process: errors with their code, and the one function of TLS
 * options.
 */
export function pack(value: unknown): unknown {
  if (value instanceof Error) {
    const { name, message, stack, cause } = value
    const code = 'code' in value && typeof value.code === 'string' ? value.code : undefined
    return {
      [errorMark]: { name, message, stack, code, cause: cause instanceof Error ? pack(cause) : undefined },
    }
  }
  if (Array.isArray(value)) return value.map(pack)
  if (!isPlain(value)) return value
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => {
      if (typeof item === 'function' && key === 'checkServerIdentity') return [key, { [anyNameMark]: true }]
      return [key, pack(item)]
    }),
  )
}

export function unpack(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(unpack)
  if (!isPlain(value)) return value
  const error = value[errorMark]
  if (isPlain(error)) {
    const { message, cause, ...rest } = error
    return Object.assign(new Error(String(message), { cause: unpack(cause) }), rest)
  }
  if (value[anyNameMark] === true) return () => undefined
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, unpack(item)]))
}

function isPlain(value: unknown): value is Record<string, unknown> {
  if (typeof value !== 'object' || value === null) return false
  const prototype = Object.getPrototypeOf(value)
  return prototype === Object.prototype || prototype === null
}
