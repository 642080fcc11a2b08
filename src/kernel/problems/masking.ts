import type { Kind } from './kind.ts'

/** Problems that only the masking API reports. */
export const maskingProblems = {
  ResourceNotFound: {
    status: 404,
    code: 'ResourceNotFound',
    message: "The resource '{id}' was not found.",
  },
  SubscriptionNotFound: {
    status: 404,
    code: 'SubscriptionNotFound',
    message: "The subscription '{subscription}' could not be found.",
  },
  ResourceGroupNotFound: {
    status: 404,
    code: 'ResourceGroupNotFound',
    message: "Resource group '{group}' could not be found.",
  },
  InvalidResourceNamespace: {
    status: 404,
    code: 'InvalidResourceNamespace',
    message: "The resource namespace '{namespace}' is invalid.",
  },
  RoleDefinitionDoesNotExist: {
    status: 404,
    code: 'RoleDefinitionDoesNotExist',
    message: "The specified role definition with ID '{id}' does not exist.",
  },
  ParentResourceNotFound: {
    status: 404,
    code: 'ParentResourceNotFound',
    message:
      "The parent resource '{id}' was not found. Declare it first: this service is strict about parents.",
  },
  CredentialExists: {
    status: 409,
    code: 'CredentialExists',
    message: 'A credential of this name exists. Revoke it first, or choose another name.',
  },
  WrongSecret: {
    status: 400,
    code: 'InvalidRequestContent',
    message:
      "'properties.currentPassword' is not a secret of the application. Applications without a secret log in with tokens.",
  },
  InvalidResourceName: {
    status: 400,
    code: 'InvalidResourceName',
    message: "The '{parameter}' in the path is not a valid name: {reason}.",
  },
  InvalidDataMaskingRule: {
    status: 400,
    code: 'InvalidDataMaskingRule',
    message: 'The masking rule is not valid: {reason}',
  },
  InvalidMaskingDocument: {
    status: 400,
    code: 'InvalidMaskingDocument',
    message: 'The document is not valid, and nothing was changed: {reason}',
  },
  InvalidBinding: {
    status: 400,
    code: 'InvalidBinding',
    message: 'The binding of the database is not valid: {reason}',
  },
  UnfitBinding: {
    status: 400,
    code: 'UnfitBinding',
    message: 'Masks could not hold in that database: {reason}',
  },
  InvalidPreview: {
    status: 400,
    code: 'InvalidPreview',
    message: 'There is nothing to preview: {reason}.',
  },
  DraftNeedsExemption: {
    status: 403,
    code: 'DraftNeedsExemption',
    message:
      'The column has a rule: only callers whom the policy exempts may preview it under another one. Store the rule to see it under the new one.',
  },
  BoundDatabaseUnusable: {
    status: 503,
    code: 'BoundDatabaseUnusable',
    message: 'The bound database cannot be looked into: {reason}.',
  },
  InvalidRoleAssignment: {
    status: 400,
    code: 'InvalidRoleAssignment',
    message: 'The role assignment is not valid: {reason}',
  },
  RolesNotContained: {
    status: 409,
    code: 'RolesNotContained',
    message: 'Masks would not contain {count} of the database roles, and nothing was changed. {reason}',
  },
  InvalidRoleMapping: {
    status: 400,
    code: 'InvalidRoleMapping',
    message: 'The role mapping is not valid: {reason}',
  },
} as const satisfies Record<string, Kind>
