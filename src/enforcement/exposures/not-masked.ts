import { quoteIdentifier } from '../../db/quote.ts'
import type { ExposureClass } from './exposure.ts'

export const notMasked: ExposureClass = {
  code: 'NotMasked',
  find: ({ unmanaged, self, book }) =>
    unmanaged.map(({ kind, name, owner }) => ({
      code: 'NotMasked',
      severity: 'high',
      objects: [{ kind, name }],
      roles: book.watched,
      explanation: `A rule names it, but the role of the binding is not a member of its owner ${quoteIdentifier(owner)} and cannot put masks on it: whoever was granted it reads it raw.`,
      remedy: `GRANT ${quoteIdentifier(owner)} TO ${quoteIdentifier(self)}`,
      rule: null,
    })),
}
