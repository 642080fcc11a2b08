import createModule from 'libpg-query/wasm/libpg-query.js'

/** PostgreSQL's parser with a memory of its own. */
export interface ParserInstance {
  /** The syntax tree as JSON; undefined: it is no SQL. */
  parse(text: string): string | undefined
}

/** libpg-query has one instance for good; one that ran out of stack has to be replaced. */
export async function createParser(): Promise<ParserInstance> {
  const wasm = await createModule()
  return {
    parse(text) {
      const length = wasm.lengthBytesUTF8(text) + 1
      const query = wasm._malloc(length)
      wasm.stringToUTF8(text, query, length)
      const result = wasm._wasm_parse_query_raw(query)
      // A struct of three pointers: tree, what was printed, error.
      const [tree = 0, , error = 0] = [0, 4, 8].map((offset) => wasm.getValue(result + offset, 'i32'))
      const json = result !== 0 && error === 0 && tree !== 0 ? wasm.UTF8ToString(tree) : undefined
      wasm._free(query)
      if (result !== 0) wasm._wasm_free_parse_result(result)
      return json
    },
  }
}

/** A parser that is replaced when it breaks. */
export class SteadyParser {
  #current: ParserInstance | undefined
  /** Ready for when the one at work breaks. */
  #spare: ParserInstance | undefined

  async load(): Promise<void> {
    this.#current ??= await createParser()
    this.#spare ??= await createParser()
  }

  get isLoaded(): boolean {
    return this.#current !== undefined
  }

  /** The syntax tree as JSON; undefined: the text is no SQL, or no instance is loaded, or the instance broke. */
  parse(text: string): string | undefined {
    try {
      return this.#current?.parse(text)
    } catch {
      // Out of stack or memory; what is in there now is in no known state.
      this.#current = this.#spare
      this.#spare = undefined
      void this.load().catch(() => {})
      return undefined
    }
  }
}
