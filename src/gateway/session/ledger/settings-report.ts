/**
 * Tells whether the server has reported every change of its settings. It reports them before ReadyForQuery; until then a
 * message that runs something may have changed what the next text means.
 */
export class SettingsReport {
  #isComplete = true
  /** A message ran something, and the client has sent no message yet that ReadyForQuery answers. */
  #isOpen = false

  /** True when no ParameterStatus can be pending. */
  get isComplete(): boolean {
    return this.#isComplete
  }

  /** The client sends a message that runs something. */
  run(): void {
    this.#isComplete = false
    this.#isOpen = true
  }

  /** The client sends a message that ReadyForQuery answers. */
  end(): void {
    this.#isComplete = false
    this.#isOpen = false
  }

  /** The server is ready and has answered everything. */
  ready(): void {
    this.#isComplete = !this.#isOpen
  }
}
