import type { Described, Property } from '../entities/property.ts'
import { fieldsOf } from '../odata/field.ts'
import { mostWalked } from '../odata/list.ts'
import { resources } from './kinds/resources.ts'

type Index = NonNullable<Property['index']>

const served: Readonly<Record<Index, string>> = {
  key: '`eq`, `in`',
  order: '`eq`, `in`, `gt`, `ge`, `lt`, `le`, `startswith`, `eq null`, `$orderby`',
  suffix: 'the same, and `endswith`',
  elements: "`any(x:x eq '…')`",
}

/** The text of `docs/queries.md`. */
export function renderQueries(): string {
  return [
    '# Queries',
    '',
    'Lists of directory objects take `$filter`, `$orderby`, `$search`, `$count`, `$select`, `$expand` and `$top` (DIR-139, DIR-200',
    'to DIR-206). Every property can be filtered by; those of this table have an index for it. Properties of the kind `order` and',
    '`suffix` are the sortable ones. This page is made from the tables in `src/directory/objects/kinds/` (`npm run docs`).',
    '',
    '| index | serves |',
    '|---|---|',
    ...Object.entries(served).map(([index, what]) => `| ${index} | ${what} |`),
    '',
    '| set | key | order | suffix | elements |',
    '|---|---|---|---|---|',
    ...Object.values(resources).map(({ set, ...described }) => renderRow(set, described)),
    '',
    'The words of `displayName` have an index for `$search`; `$search` on other properties finds how they begin, by the same',
    'indexes. `any` on `members`, `memberOf`, `owners` and `ownedObjects` is served where the condition inside is.',
    '',
    'A filter is served when all sides of its `or` are, and at least one side of each `and`. `ne`, `not`, `all` and `/$count` never',
    'are: they match nearly everything or count what they find.',
    '',
    `A filter that is not served is answered too, in bounded pages: a page looks at ${mostWalked.toLocaleString('en')} rows at most, has those that match,`,
    'perhaps none, and its `@odata.nextLink` continues behind them. The page iterators of the official clients follow such links by',
    'themselves. `$count` and `/$count` with such a filter read all objects of the set.',
    '',
    'Two filters are refused. `transitiveMemberOf` and `transitiveMembers` in `any`, `all` or `$count` would walk the memberships of',
    'each row: `/groups/{id}/transitiveMembers/vendor.graph.user` lists the users in a group at any depth, and takes filters. A delta',
    'takes nothing but ids (DIR-277): for any other condition, an object that meets it no more would have to come as removed, and the',
    'log of changes does not keep what objects were like.',
    '',
    '`/auditLogs/directoryAudits` has an index on `activityDateTime`, and `/auditLogs/signIns` on `createdDateTime`,',
    '`userPrincipalName`, `userId` and `appId`; both come newest first. Other filters of theirs walk in the same bounded pages.',
    '',
    'Of several properties of `$orderby`, the index of the first one serves; rows that are equal in it are sorted for each page.',
    '',
  ].join('\n')
}

function renderRow(set: string, described: Pick<Described, 'properties'>): string {
  const fields = [...fieldsOf([described]).values()]
  const cells = (Object.keys(served) as Index[]).map((index) =>
    fields.flatMap((field) => (field.index === index ? [`\`${field.name}\``] : [])).join(', '),
  )
  return `| ${set} | ${cells.join(' | ')} |`
}
