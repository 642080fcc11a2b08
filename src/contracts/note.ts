/** A message for operators about a rule, a relation or a role. */
export interface Note {
  readonly code:
    | 'ColumnMissing'
    | 'ColumnRenamed'
    | 'ExemptNameTaken'
    | 'ExemptsNothing'
    | 'FunctionDoesNotFit'
    | 'LoginRole'
    | 'MappedRole'
    | 'Locked'
    | 'NoTwin'
    | 'NotClosed'
    | 'NotMasked'
    | 'OpenSession'
    | 'ReadsAsReader'
    | 'ForeignServer'
    | 'RowSecurity'
  readonly target: string
  readonly message: string
}
