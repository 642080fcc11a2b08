import { type Static, Type } from 'typebox'
import type { DatabaseRow } from '../databases/database-row.ts'
import { proposedContainment } from '../enforcement/verdict.ts'
import { ownApiVersion } from '../operation.ts'
import { fillPath, policyPath } from '../place.ts'
import { splitEntries } from '../policy/exempt-entries.ts'
import { type Exemption, exemptionAnswer } from '../policy/exemptions.ts'
import { notContainedField } from '../policy/policy.ts'
import type { Site } from '../resource.ts'
import type { Rule } from '../rules/rule.ts'
import {
  allFields,
  columnFields,
  maskingFunctions,
  optionalFields,
  pick,
  type RuleProperties,
} from '../rules/rule-fields.ts'
import { each, envelopeInput, nullableString, oneOf, optionalString, strict } from '../schemas.ts'

export const documentPath = `${policyPath}/document`

const policyStates = oneOf(['Enabled', 'Disabled'])
const enforcementModes = oneOf(['Enforce', 'Observe'])

/** Everything that is masked in a database, and everybody who is exempt: the whole of it. */
export const documentProperties = Type.Object(
  {
    policy: Type.Optional(
      Type.Object(
        {
          dataMaskingState: policyStates,
          enforcementMode: Type.Optional(enforcementModes),
          exemptPrincipals: Type.Optional(Type.Array(Type.String())),
          notContained: Type.Optional(notContainedField),
        },
        strict,
      ),
    ),
    rules: Type.Optional(
      Type.Array(
        Type.Object(
          {
            name: Type.String(),
            ...each(columnFields, optionalString),
            maskingFunction: Type.Optional(oneOf([...maskingFunctions, null])),
            ...each(optionalFields, optionalString),
          },
          strict,
        ),
      ),
    ),
  },
  strict,
)
export type DocumentInput = Static<typeof documentProperties>

/** Room for 10,000 rules and more: a document is one change, and cannot be sent in parts. */
export const documentLimits = { bytes: 8 * 1024 * 1024, depth: 64, keys: 200_000, values: 400_000 }

export const documentInput = Type.Object(
  { ...envelopeInput, properties: documentProperties },
  {
    ...strict,
    title: 'newMaskingDocument',
    examples: [
      {
        properties: {
          policy: { dataMaskingState: 'Enabled', exemptPrincipals: ['auditors'] },
          rules: [
            {
              name: 'passenger-email',
              schemaName: 'public',
              tableName: 'passenger',
              columnName: 'email',
              maskingFunction: 'Email',
            },
          ],
        },
      },
    ],
  },
)

export const changeCounts = Type.Object({
  created: Type.Integer(),
  updated: Type.Integer(),
  deleted: Type.Integer(),
  unchanged: Type.Integer(),
})

export const documentAnswer = Type.Object(
  {
    id: Type.String(),
    name: Type.Literal('document'),
    type: Type.String(),
    properties: Type.Object({
      policy: Type.Object({
        dataMaskingState: policyStates,
        enforcementMode: enforcementModes,
        exemptPrincipals: Type.Array(Type.String()),
        notContained: Type.Optional(notContainedField),
      }),
      rules: Type.Array(
        Type.Object({
          name: Type.String(),
          ...each(columnFields, Type.String()),
          maskingFunction: oneOf(maskingFunctions),
          ...each(optionalFields, nullableString),
        }),
      ),
    }),
    exemptions: Type.Array(exemptionAnswer, { description: 'Whom each of the exempt principals is' }),
    changes: Type.Optional(changeCounts),
    containment: Type.Optional(proposedContainment),
  },
  { title: 'maskingDocument' },
)

/** A document that was checked. */
export interface CheckedDocument {
  /** Undefined: the policy stays as it is. */
  readonly policy?: {
    readonly policyState: DatabaseRow['policyState']
    /** Undefined: it stays as it is. */
    readonly policyMode?: DatabaseRow['policyMode']
    readonly exemptPrincipals: string
    /** Undefined: it stays as it is. */
    readonly notContained?: DatabaseRow['notContained']
  }
  /** Undefined: the rules stay as they are. */
  readonly rules?: readonly NamedRule[]
}

/** Ready to be stored. */
export type MaskingDocument = CheckedDocument & { readonly rules: readonly NamedRule[] }

export type NamedRule = RuleProperties & { readonly name: string }

type Shown = Pick<DatabaseRow, 'place' | 'policyState' | 'policyMode' | 'exemptPrincipals' | 'notContained'>

export function renderDocument(
  { place, policyState, policyMode, exemptPrincipals, notContained }: Shown,
  rules: readonly NamedRule[],
  exemptions: readonly Exemption[],
  { namespace, apiVersion }: Pick<Site, 'namespace' | 'apiVersion'>,
): Omit<Static<typeof documentAnswer>, 'changes' | 'containment'> {
  return {
    id: fillPath(documentPath, { ...place }, namespace),
    name: 'document',
    type: `${namespace}/servers/databases/dataMaskingPolicies/document`,
    properties: {
      policy: {
        dataMaskingState: policyState,
        enforcementMode: policyMode,
        exemptPrincipals: splitEntries(exemptPrincipals),
        ...(apiVersion === ownApiVersion && { notContained }),
      },
      rules: rules.map((rule) => ({ name: rule.name, ...pick(rule, allFields) })),
    },
    exemptions: [...exemptions],
  }
}

/**
 * The tag of a document: the version of the policy, the number of rules and the newest version among them. No two states
 * share it, because a rule that is added or changed gets a version that none had before.
 */
export function documentTag(
  policyVersion: number,
  rules: readonly Pick<Rule, 'version'>[],
): { readonly etag: string } {
  const newest = rules.reduce((most, { version }) => Math.max(most, version), 0)
  return { etag: `"${policyVersion}-${rules.length}-${newest}"` }
}
