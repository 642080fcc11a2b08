/**
 * Whether the server has told all that changed in its settings. It does so when it is ready; until then, whatever was sent
 * may have changed what the next text means.
 */
export class Settled {
  #is = true
  /** Something runs that no message has been sent for yet that the server answers by being ready. */
  #isOpen = false

  get is(): boolean {
    return this.#is
  }

  /** A message that runs something. */
  run(): void {
    this.#is = false
    this.#isOpen = true
  }

  /** A message that the server answers by being ready. */
  end(): void {
    this.#is = false
    this.#isOpen = false
  }

  /** The server is, and has nothing more to answer. */
  ready(): void {
    this.#is = !this.#isOpen
  }
}
