import { useQuery } from '@tanstack/react-query'
import { Link, useNavigate, useSearch } from '@tanstack/react-router'
import { Download, Upload, VenetianMask } from 'lucide-react'
import { useState } from 'react'
import {
  type DocumentProperties,
  documentQuery,
  maskingFunctions,
  type Policy,
  type Rule,
} from '../../api/document.ts'
import type { DatabasePlace } from '../../api/masking.ts'
import { useSelected } from '../../shell/selected.ts'
import { t } from '../../texts/index.ts'
import { Badge } from '../../ui/badge.tsx'
import { Button } from '../../ui/button.tsx'
import { type Column, DataTable } from '../../ui/data-table.tsx'
import { SearchField } from '../../ui/field.tsx'
import { Drawer } from '../../ui/layers.tsx'
import { saveFile } from '../../ui/save-file.ts'
import { Empty, Loaded } from '../../ui/states.tsx'
import { BulkMask } from './bulk-mask.tsx'
import { type Proposal, useDocumentChange } from './document-change.tsx'
import { ImportDrawer } from './import-drawer.tsx'
import { describeMask, labelColumn } from './masks.ts'
import { useDatabasePlace, useRights } from './use-database.ts'

const route = '/databases/$subscription/$group/$server/$database/rules'

/** Every masked column of a database, with the document as a file to take away and bring back. */
export function RulesPage() {
  const place = useDatabasePlace()
  const query = useQuery(documentQuery(place))
  return (
    <Loaded query={query}>{({ properties }) => <RulesView place={place} properties={properties} />}</Loaded>
  )
}

function RulesView({
  place,
  properties,
}: {
  readonly place: DatabasePlace
  readonly properties: DocumentProperties
}) {
  const { rules, policy } = properties
  const { q = '' } = useSearch({ from: route })
  const navigate = useNavigate({ from: route })
  const { mayWrite } = useRights()
  const { drawer, propose } = useDocumentChange()
  const { selected, select } = useSelected()
  const [isImporting, setImporting] = useState(false)
  const [isEditing, setEditing] = useState(false)
  const shown = rules.filter((rule) => matches(rule, q))
  const chosen = rules.filter(({ name }) => selected.has(name))
  const remove = () =>
    propose(
      {
        title: t.rules.removeTitle(chosen.length),
        differences: chosen.map((rule) => ({
          label: labelColumn(rule),
          before: describeMask(rule),
          after: t.data.unmasked,
        })),
        after: (before) => ({ ...before, rules: before.rules.filter(({ name }) => !selected.has(name)) }),
        isDanger: true,
        confirmLabel: t.rules.remove,
        doneText: t.rules.removeDone(chosen.length),
      },
      () => select(new Set()),
    )
  const change = (proposal: Proposal) => {
    setEditing(false)
    propose(proposal, () => select(new Set()))
  }
  const turn = (dataMaskingState: Policy['dataMaskingState']) =>
    propose({
      title: dataMaskingState === 'Enabled' ? t.rules.turnOn : t.rules.turnOff,
      differences: [
        {
          label: t.rules.policyState,
          before: t.rules.states[policy.dataMaskingState],
          after: t.rules.states[dataMaskingState],
        },
      ],
      after: (before) => ({ ...before, policy: { ...before.policy, dataMaskingState } }),
      isDanger: dataMaskingState === 'Disabled',
      doneText: dataMaskingState === 'Enabled' ? t.rules.turnOnDone : t.rules.turnOffDone,
    })
  const save = () =>
    saveFile(
      `${place.database}-masking.json`,
      'application/json',
      `${JSON.stringify({ properties }, null, 2)}\n`,
    )
  return (
    <>
      <PolicyLine policy={policy} mayWrite={mayWrite} onTurn={turn} />
      <div className="line">
        <div className="grow">
          <SearchField
            label={t.rules.filter}
            value={q}
            onChange={({ target }) =>
              void navigate({
                search: (before) => ({ ...before, q: target.value || undefined }),
                replace: true,
              })
            }
          />
        </div>
        {chosen.length > 0 && (
          <>
            <span className="quiet small">{t.rules.selected(chosen.length)}</span>
            <Button onClick={() => setEditing(true)}>{t.rules.change}</Button>
            <Button onClick={remove}>{t.rules.remove}</Button>
          </>
        )}
        <Button onClick={save}>
          <Download size={14} aria-hidden />
          {t.rules.exportDocument}
        </Button>
        {mayWrite && (
          <Button onClick={() => setImporting(true)}>
            <Upload size={14} aria-hidden />
            {t.rules.importDocument}
          </Button>
        )}
      </div>
      <DataTable
        label={t.database.rules}
        columns={columnsFor(place)}
        rows={shown}
        keyOf={({ name }) => name}
        height="640px"
        {...(mayWrite && {
          selection: { selected, onSelect: select, labelOf: t.rules.select },
        })}
        empty={
          rules.length === 0 ? (
            <Empty
              icon={VenetianMask}
              title={t.rules.emptyTitle}
              actions={
                <Link
                  className="button primary"
                  to="/databases/$subscription/$group/$server/$database/data"
                  params={{ ...place }}
                >
                  {t.rules.toData}
                </Link>
              }
            >
              {t.rules.emptyHint}
            </Empty>
          ) : (
            <Empty title={t.rules.noMatch}>{t.rules.noMatchHint}</Empty>
          )
        }
      />
      <Drawer title={t.rules.changeTitle(chosen.length)} isOpen={isEditing} onClose={() => setEditing(false)}>
        <BulkMask
          targets={chosen.map((rule) => ({ ...rule, rule, fitting: maskingFunctions }))}
          onReview={change}
        />
      </Drawer>
      <ImportDrawer
        isOpen={isImporting}
        onClose={() => setImporting(false)}
        present={properties}
        onPropose={propose}
      />
      {drawer}
    </>
  )
}

function PolicyLine({
  policy: { dataMaskingState, enforcementMode },
  mayWrite,
  onTurn,
}: {
  readonly policy: Policy
  readonly mayWrite: boolean
  readonly onTurn: (state: Policy['dataMaskingState']) => void
}) {
  const isOn = dataMaskingState === 'Enabled'
  const words = !isOn
    ? t.rules.policyOff
    : enforcementMode === 'Observe'
      ? t.rules.policyObserved
      : t.rules.policyOn
  return (
    <div className={isOn ? 'notice' : 'notice warn'}>
      <VenetianMask size={16} aria-hidden />
      <div className="line spread grow">
        <span>{words}</span>
        {mayWrite && (
          <Button size="small" onClick={() => onTurn(isOn ? 'Disabled' : 'Enabled')}>
            {isOn ? t.rules.turnOff : t.rules.turnOn}
          </Button>
        )}
      </div>
    </div>
  )
}

function columnsFor(place: DatabasePlace): readonly Column<Rule>[] {
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
    { key: 'mask', header: t.rules.mask, cell: (rule) => <Badge tone="accent">{describeMask(rule)}</Badge> },
    { key: 'name', header: t.rules.name, cell: ({ name }) => <span className="quiet">{name}</span> },
  ]
}

function matches(rule: Rule, text: string): boolean {
  const known = `${labelColumn(rule)} ${rule.name} ${describeMask(rule)}`
  return known.toLowerCase().includes(text.trim().toLowerCase())
}
