/**
 * Messages of either side by their first byte, the states of a session that is in no transaction or in one that failed, and
 * what a Describe or Close is about.
 */
export const codes = {
  Query: 0x51,
  Parse: 0x50,
  Describe: 0x44,
  Close: 0x43,
  Bind: 0x42,
  Execute: 0x45,
  FunctionCall: 0x46,
  Terminate: 0x58,
  Sync: 0x53,
  CopyDone: 0x63,
  CopyFail: 0x66,
  CopyIn: 0x47,
  CommandComplete: 0x43,
  EmptyQuery: 0x49,
  PortalSuspended: 0x73,
  BindComplete: 0x32,
  Error: 0x45,
  Notice: 0x4e,
  Ready: 0x5a,
  ParseComplete: 0x31,
  CloseComplete: 0x33,
  ParameterStatus: 0x53,
  idle: 0x49,
  failed: 0x45,
  statement: 0x53,
} as const
