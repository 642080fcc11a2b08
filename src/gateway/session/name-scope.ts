import { limitPath, readSearchPath } from '../../sql/search-path.ts'
import { hideName } from '../rewrite/names.ts'
import type { NameChanges } from '../rewrite/text-analysis.ts'

/** The meaning of names without a schema in one session: its search path and its temporary relations. */
export class NameScope {
  readonly #role: string
  readonly #initialPath: readonly string[]
  readonly #hidden = new Set<string>()
  #path: readonly string[]
  #pathKey: string

  constructor(role: string, initialPath: string) {
    this.#role = role
    this.#initialPath = limitPath(readSearchPath(initialPath, role))
    this.#path = this.#initialPath
    this.#pathKey = JSON.stringify(this.#path)
  }

  get path(): readonly string[] {
    return this.#path
  }

  /** Stands for the path: equal for equal ones. */
  get pathKey(): string {
    return this.#pathKey
  }

  /** Names of temporary relations, which come before all others. */
  get hidden(): ReadonlySet<string> {
    return this.#hidden
  }

  /** The server reports its path; what followed from the client's statements was a guess until then. */
  setReportedPath(value: string): void {
    this.#setPath(readSearchPath(value, this.#role))
  }

  change({ path, hides, uncovers }: NameChanges): void {
    if (path === 'initial') this.#setPath(this.#initialPath)
    else if (path) this.#setPath(path.map((schema) => (schema === '$user' ? this.#role : schema)))
    if (uncovers === 'all') this.#hidden.clear()
    else if (uncovers !== undefined) this.#hidden.delete(uncovers)
    if (hides !== undefined) hideName(this.#hidden, hides)
  }

  #setPath(path: readonly string[]): void {
    this.#path = limitPath(path)
    this.#pathKey = JSON.stringify(this.#path)
  }
}
