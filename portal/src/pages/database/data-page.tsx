import { useQuery } from '@tanstack/react-query'
import { useNavigate, useSearch } from '@tanstack/react-router'
import { Table2, Unplug } from 'lucide-react'
import { useState } from 'react'
import { type ColumnEntry, columnsQuery, type TablePlace } from '../../api/catalog.ts'
import { type Mask, type Recommendation, recommendationsQuery } from '../../api/document.ts'
import { pathOf } from '../../api/masking.ts'
import { selectNone, useSelected } from '../../shell/selected.ts'
import { t } from '../../texts/index.ts'
import { CodeBlock } from '../../ui/copy.tsx'
import { useDraft } from '../../ui/draft.ts'
import { Card } from '../../ui/page.tsx'
import { Empty, Loaded } from '../../ui/states.tsx'
import { AcceptRecommendations } from './accept-recommendations.tsx'
import { BulkMask } from './bulk-mask.tsx'
import { ColumnList } from './column-list.tsx'
import { useDocumentChange } from './document-change.tsx'
import { MaskEditor } from './mask-editor.tsx'
import { isSameMask, isValidMask, onlyMask, startMask } from './masks.ts'
import { PreviewPanel } from './preview-panel.tsx'
import { TableTree } from './table-tree.tsx'
import { useDatabasePlace, useRights, useVisibleDatabase } from './use-database.ts'
import './data.css'

const route = '/databases/$subscription/$group/$server/$database/data'

export function DataPage() {
  const { schema, table, q = '' } = useSearch({ from: route })
  const navigate = useNavigate({ from: route })
  const shown = useVisibleDatabase()
  const place = useDatabasePlace()
  const chosen = schema !== undefined && table !== undefined ? { schema, table } : undefined
  const search = (text: string) =>
    void navigate({ search: (before) => ({ ...before, q: text === '' ? undefined : text }), replace: true })
  if (shown?.properties.enforcement.state === 'NotBound') {
    const id = [place.subscription, place.group, place.server, place.database].join('/')
    return (
      <div className="card">
        <Empty icon={Unplug} title={t.data.notBound}>
          {t.data.notBoundHint}
        </Empty>
        <div className="card-body">
          <CodeBlock label={t.data.notBound} text={t.data.bindCommand(id)} />
        </div>
      </div>
    )
  }
  return (
    <div className="data-page">
      <TableTree chosen={chosen} search={q} onSearch={search} />
      <div className="stack">
        <AcceptRecommendations />
        {chosen ? (
          <TableView key={`${pathOf(place)} ${schema}.${table}`} table={chosen} />
        ) : (
          <div className="card">
            <Empty icon={Table2} title={t.data.choose}>
              {t.data.chooseHint}
            </Empty>
          </div>
        )}
      </div>
    </div>
  )
}

function TableView({ table }: { readonly table: TablePlace }) {
  const query = useQuery(columnsQuery(useDatabasePlace(), table))
  return <Loaded query={query}>{(columns) => <ColumnsView table={table} columns={columns} />}</Loaded>
}

function ColumnsView({
  table,
  columns,
}: {
  readonly table: TablePlace
  readonly columns: readonly ColumnEntry[]
}) {
  const place = useDatabasePlace()
  const { mayPreview, mayWrite } = useRights()
  const { column } = useSearch({ from: route })
  const navigate = useNavigate({ from: route })
  const { data: recommendations = [] } = useQuery(recommendationsQuery(place))
  const where = `${pathOf(place)} ${table.schema}.${table.table}`
  const { draft, setDraft, forgetDraft } = useDraft<MaskDraft>(`mask ${where}`)
  const [applied, setApplied] = useState<string>()
  const { drawer, propose } = useDocumentChange()
  const choose = (next: string | undefined) => {
    if (draft?.column !== next) setDraft(undefined)
    setApplied(undefined)
    void navigate({ search: (before) => ({ ...before, column: next, columns: undefined }), replace: true })
  }
  const { selected, select } = useSelected('columns', 'column')
  const hints = recommendations.filter(
    (one) => one.schemaName === table.schema && one.tableName === table.table,
  )
  const hintFor = (name: string) => hints.find(({ columnName }) => columnName === name)
  const targets = columns
    .filter(({ columnName }) => mayWrite && selected.has(columnName))
    .map(({ columnName, rule, fittingFunctions }) => ({
      schemaName: table.schema,
      tableName: table.table,
      columnName,
      rule,
      hint: hintFor(columnName),
      fitting: fittingFunctions,
    }))
  const chosen = targets.length > 0 ? undefined : columns.find(({ columnName }) => columnName === column)
  const mask = draftOf(chosen, mayWrite ? draft : undefined, hints)
  const isDrafted = chosen && mask && isValidMask(mask) && !isSameMask(chosen.rule, mask)
  return (
    <>
      <div className={chosen || targets.length > 0 ? 'columns-and-editor' : undefined}>
        <ColumnList
          table={table}
          columns={columns}
          hints={hints}
          chosen={chosen?.columnName}
          onChoose={choose}
          selection={mayWrite ? { selected, onSelect: select } : undefined}
        />
        {targets.length > 0 && (
          <Card title={t.data.selectedTitle(targets.length)}>
            <BulkMask
              key={[...selected].join()}
              draftName={`masks ${where} ${[...selected].join()}`}
              targets={targets}
              onReview={(proposal) => propose(proposal, () => select(selectNone))}
            />
          </Card>
        )}
        {chosen && (
          <MaskEditor
            key={chosen.columnName}
            table={table}
            column={chosen}
            hint={hintFor(chosen.columnName)}
            mask={mask}
            mayWrite={mayWrite}
            onChange={(next) => setDraft({ column: chosen.columnName, mask: next })}
            onApplied={() => {
              forgetDraft()
              setApplied(chosen.columnName)
            }}
            onClose={() => choose(undefined)}
          />
        )}
      </div>
      {mayPreview && (
        <PreviewPanel
          table={table}
          draft={isDrafted ? { ...mask, columnName: chosen.columnName } : undefined}
          isReplacing={chosen ? chosen.rule !== null : false}
          applied={applied}
        />
      )}
      {drawer}
    </>
  )
}

interface MaskDraft {
  readonly column: string
  readonly mask: Mask
}

/** The mask in the editor: what was chosen there, else the stored one, else the recommended one. */
function draftOf(
  column: ColumnEntry | undefined,
  draft: MaskDraft | undefined,
  hints: readonly Recommendation[],
): Mask | undefined {
  if (!column) return undefined
  if (draft?.column === column.columnName) return draft.mask
  if (column.rule) return onlyMask(column.rule)
  const hint = hints.find(({ columnName }) => columnName === column.columnName)
  return hint ? onlyMask(hint) : startMask(column.fittingFunctions.includes('Text') ? 'Text' : 'Default')
}
