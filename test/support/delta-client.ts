import assert from 'node:assert/strict'

type Item = Record<string, unknown> & { readonly id: string }
interface Page {
  readonly value: readonly Item[]
  readonly '@odata.nextLink'?: string
  readonly '@odata.deltaLink'?: string
}
interface Copy {
  readonly shown: Record<string, unknown>
  readonly members: Set<string>
}

/** A client that keeps a copy of the objects of one kind by delta queries. */
export class DeltaClient {
  readonly copies = new Map<string, Copy>()
  readonly #get: (url: string) => Promise<Page>
  #next: string

  constructor(get: (url: string) => Promise<Page>, start: string) {
    this.#get = get
    this.#next = start
  }

  get link(): string {
    return this.#next
  }

  /** Reads one page. True: it was the last of its round. */
  async step(): Promise<boolean> {
    const page = await this.#get(this.#next)
    for (const item of page.value) this.#apply(item)
    const { '@odata.nextLink': next, '@odata.deltaLink': delta } = page
    assert.ok((next === undefined) !== (delta === undefined), 'a page has one link')
    this.#next = (next ?? delta) as string
    return delta !== undefined
  }

  /** Reads pages to the end of the round. */
  async round(): Promise<number> {
    for (let pages = 1; ; pages++) if (await this.step()) return pages
  }

  membersOf(id: string): string[] {
    return [...(this.copies.get(id)?.members ?? [])].sort()
  }

  #apply({ 'members@delta': changed, ...shown }: Item): void {
    if (shown['@removed']) return void this.copies.delete(shown.id)
    const members = this.copies.get(shown.id)?.members ?? new Set<string>()
    for (const member of (changed ?? []) as Item[])
      if (member['@removed']) members.delete(member.id)
      else members.add(member.id)
    this.copies.set(shown.id, { shown, members })
  }
}
