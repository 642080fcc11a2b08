export interface Line {
  /** From 1. */
  readonly number: number
  readonly text: string
}

const maxLineLength = 4 * 1024 * 1024

export class LineError extends Error {
  readonly line: number
  constructor(line: number, message: string) {
    super(message)
    this.line = line
  }
}

/** The lines of a stream of UTF-8 that are not blank. */
export async function* splitLines(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Line> {
  const decoder = new TextDecoder('utf-8', { fatal: true })
  let rest = ''
  let number = 0
  const decode = (chunk?: Uint8Array): string => {
    try {
      return chunk ? decoder.decode(chunk, { stream: true }) : decoder.decode()
    } catch {
      throw new LineError(number + 1, 'From here on the file is not UTF-8.')
    }
  }
  for await (const chunk of chunks) {
    const lines = (rest + decode(chunk)).split('\n')
    rest = lines.pop() ?? ''
    for (const text of lines) {
      number++
      if (text.trim() !== '') yield { number, text }
    }
    if (rest.length > maxLineLength) throw new LineError(number + 1, 'The line is too long.')
  }
  rest += decode()
  if (rest.trim() !== '') yield { number: number + 1, text: rest }
}
