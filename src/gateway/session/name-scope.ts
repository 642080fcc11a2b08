import { isAscii, pathOf, readSearchPath, type SearchPath } from '../../sql/search-path.ts'
import { hideName } from '../rewrite/names.ts'
import type { NameChanges } from '../rewrite/text-analysis.ts'

/** The meaning of names without a schema in one session: its search path and its temporary relations. */
export class NameScope {
  readonly #initialPath: SearchPath
  readonly #hidden = new Set<string>()
  #reported: SearchPath
  #path: SearchPath
  #pathKey: string

  /** `isUtf8`: so is the path. Otherwise its letters beyond ASCII are not known. */
  constructor(initialPath: string, isUtf8 = true) {
    this.#initialPath = readPath(initialPath, isUtf8)
    this.#reported = this.#initialPath
    this.#path = this.#initialPath
    this.#pathKey = JSON.stringify(this.#path.schemas)
  }

  get path(): readonly string[] {
    return this.#path.schemas
  }

  /** The server reported this path, and reads the same names in it. False: it follows from statements that may never run. */
  get isPathCertain(): boolean {
    return this.#path === this.#reported && this.#path.isExact
  }

  /** Stands for the path: equal for equal ones. */
  get pathKey(): string {
    return this.#pathKey
  }

  /** Names of temporary relations, which come before all others. */
  get hidden(): ReadonlySet<string> {
    return this.#hidden
  }

  setReportedPath(value: string, isUtf8 = true): void {
    this.#reported = readPath(value, isUtf8)
    this.#setPath(this.#reported)
  }

  /** The server may have reported its path in this encoding already. */
  changeEncoding(): void {
    if (!this.#reported.schemas.every(isAscii)) this.missPath()
  }

  /** The server may have any path until it reports the next one. */
  missPath(): void {
    const isCurrent = this.#path === this.#reported
    this.#reported = { ...this.#reported, isExact: false }
    if (isCurrent) this.#path = this.#reported
  }

  /**
   * The server has reported all changes. A statement that failed, was rolled back or never ran has left no report, and its path
   * is not the server's. Returns whether the path is another one now.
   */
  settle(): boolean {
    if (this.#path === this.#reported) return false
    const before = this.#pathKey
    this.#setPath(this.#reported)
    return this.#pathKey !== before
  }

  change({ path, hides, uncovers }: NameChanges): void {
    if (path === 'initial') this.#setPath(this.#initialPath)
    else if (path) this.#setPath(pathOf(path))
    if (uncovers === 'all') this.#hidden.clear()
    else if (uncovers !== undefined) this.#hidden.delete(uncovers)
    if (hides !== undefined) hideName(this.#hidden, hides)
  }

  #setPath(path: SearchPath): void {
    this.#path = path
    this.#pathKey = JSON.stringify(path.schemas)
  }
}

function readPath(text: string, isUtf8: boolean): SearchPath {
  const path = readSearchPath(text)
  return isUtf8 || path.schemas.every(isAscii) ? path : { ...path, isExact: false }
}
