declare module 'libpg-query/wasm/libpg-query.js' {
  interface ParserModule {
    lengthBytesUTF8(text: string): number
    stringToUTF8(text: string, to: number, maxBytes: number): void
    UTF8ToString(from: number): string
    getValue(from: number, type: 'i32'): number
    _malloc(bytes: number): number
    _free(from: number): void
    _wasm_parse_query_raw(text: number): number
    _wasm_free_parse_result(result: number): void
  }
  export default function createModule(): Promise<ParserModule>
}
