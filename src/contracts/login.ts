/** The login role of a principal, and its password. */
export interface LoginAccess {
  readonly role: string
  readonly password: string
  /** Of the binding that the password is of. */
  readonly version: string
}

/** How to log in as the role that the controller keeps for a principal, or why that cannot be. */
export type PreparedLogin =
  | { readonly kind: 'ready'; readonly login: LoginAccess }
  /** Nothing is mapped to them that can be given, or they are disabled or gone. */
  | { readonly kind: 'noRole' }
  /** A role of that name exists and is not ours. */
  | { readonly kind: 'nameTaken'; readonly role: string }
  /** It has more than it should, by grants that the role of the binding cannot revoke. */
  | { readonly kind: 'blocked'; readonly role: string }
  /** It owns masked tables, and would see raw values. */
  | { readonly kind: 'ownsMasked'; readonly role: string }
  /** An exemption of it was withdrawn, and the database may still honour it. */
  | { readonly kind: 'stillExempt' }
  /** The role of the binding may not create roles: the operator of the database runs the statement. */
  | { readonly kind: 'notAllowed'; readonly statement: string }
  | { readonly kind: 'notBound' }
