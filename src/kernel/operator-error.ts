/** Something the operator caused and can put right: the command line prints the message as one line and exits. */
export class OperatorError extends Error {
  readonly exitCode: number

  constructor(message: string, options: { cause?: unknown; exitCode?: number } = {}) {
    super(message, 'cause' in options ? { cause: options.cause } : undefined)
    this.name = 'OperatorError'
    this.exitCode = options.exitCode ?? 1
  }
}
