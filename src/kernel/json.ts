import { fail } from './problem.ts'

const maxDepth = 64

/**
 * Parses JSON as strictly as a service that stores what it reads must: a key given twice is refused (which of the
 * two was meant?), nesting is bounded, and keys that reach the prototype of an object are refused.
 */
export function parseJson(text: string): unknown {
  try {
    scan(text)
    return JSON.parse(text, refusePrototypeKeys)
  } catch (error) {
    if (error instanceof JsonError) fail('MalformedJson', { reason: error.message })
    if (error instanceof SyntaxError)
      fail('MalformedJson', { reason: 'it cannot be parsed' }, { cause: error })
    throw error
  }
}

class JsonError extends Error {}

function refusePrototypeKeys(key: string, value: unknown): unknown {
  if (key === '__proto__') throw new JsonError("the key '__proto__' is not allowed")
  return value
}

const token = /"[^"\\]*(?:\\.[^"\\]*)*"|[{}[\],:]|[^\s"{}[\],:]+/gs

/** Walks the tokens once, with the keys seen so far of each open object on a stack. JSON.parse checks the grammar. */
function scan(text: string): void {
  const open: (Set<string> | null)[] = []
  let previous = ''
  for (const [piece] of text.matchAll(token)) {
    if (piece === '{') open.push(new Set())
    else if (piece === '[') open.push(null)
    else if (piece === '}' || piece === ']') open.pop()
    else if (piece === ':') noteKey(open.at(-1), previous)
    if (open.length > maxDepth) throw new JsonError(`it is nested deeper than ${maxDepth} levels`)
    previous = piece
  }
}

function noteKey(keys: Set<string> | null | undefined, quoted: string): void {
  if (!keys) return
  const key: unknown = JSON.parse(quoted)
  if (typeof key !== 'string') return
  if (keys.has(key)) throw new JsonError(`the key '${key.slice(0, 100)}' is given twice`)
  keys.add(key)
}
