import type { Rule } from '../../../src/masks/policy.ts'
import { rule } from '../masked-database.ts'

const masked = (
  schema: string,
  table: string,
  column: string,
  [maskingFunction, extra]: Parameters<typeof rule> extends [string, (infer F)?, (infer E)?]
    ? [F, E?]
    : never,
): Rule => ({ ...rule(`${schema}.${table}.${column}`, maskingFunction, extra), schema, table, column })

export const rules: readonly Rule[] = [
  masked('public', 'customer', 'email', ['Email']),
  masked('public', 'customer', 'last_name', [
    'Text',
    { prefixSize: '1', suffixSize: '0', replacementString: '***' },
  ]),
  masked('public', 'customer', 'full_name', [
    'Text',
    { prefixSize: '2', suffixSize: '1', replacementString: '~' },
  ]),
  masked('public', 'customer', 'card', ['CCN']),
  masked('public', 'customer', 'born', ['Default']),
  masked('public', 'customer', 'loyalty', ['Number', { numberFrom: '7', numberTo: '7' }]),
  masked('public', 'customer', 'tags', ['Default']),
  masked('public', 'customer', 'preferences', ['Default']),
  masked('public', 'customer', 'external_id', ['Default']),
  masked('public', 'address', 'phone', [
    'Text',
    { prefixSize: '3', suffixSize: '2', replacementString: '…' },
  ]),
  masked('public', 'staff', 'email', ['Email']),
  masked('public', 'staff', 'ssn', ['SSN']),
  masked('public', 'staff', 'salary', ['Number', { numberFrom: '1000', numberTo: '2000' }]),
  masked('public', 'staff', 'picture', ['Default']),
  masked('public', 'payment', 'card', ['CCN']),
  masked('Back Office', 'Complaint', 'Written By', ['Email']),
]
