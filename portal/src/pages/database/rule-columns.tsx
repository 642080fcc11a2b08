import { Link } from '@tanstack/react-router'
import type { Rule } from '../../api/document.ts'
import type { DatabasePlace } from '../../api/masking.ts'
import { t } from '../../texts/index.ts'
import { Badge } from '../../ui/badge.tsx'
import type { Column } from '../../ui/data-table.tsx'
import { describeMask, labelColumn, showMask } from './masks.ts'

export function columnsFor(place: DatabasePlace): readonly Column<Rule>[] {
  return [
    {
      key: 'column',
      header: t.rules.column,
      cell: (rule) => (
        <Link
          className="row-link mono"
          to="/databases/$subscription/$group/$server/$database/data"
          params={{ ...place }}
          search={{ schema: rule.schemaName, table: rule.tableName, column: rule.columnName }}
        >
          <span className="faint">{rule.schemaName}.</span>
          {rule.tableName}.{rule.columnName}
        </Link>
      ),
    },
    {
      key: 'mask',
      header: t.rules.mask,
      cell: (rule) => <Badge tone="accent">{t.data.functions[rule.maskingFunction]}</Badge>,
    },
    {
      key: 'shown',
      header: t.rules.shown,
      cell: (rule) =>
        rule.maskingFunction === 'Default' ? (
          <span className="quiet small">{t.data.byType}</span>
        ) : (
          <span className="mono masked">{showMask(rule)}</span>
        ),
    },
    { key: 'name', header: t.rules.name, cell: ({ name }) => <span className="quiet">{name}</span> },
  ]
}

/** True when a rule has the text in its column, name or mask. */
export function matches(rule: Rule, text: string): boolean {
  const known = `${labelColumn(rule)} ${rule.name} ${describeMask(rule)}`
  return known.toLowerCase().includes(text.trim().toLowerCase())
}
