import { useQuery } from '@tanstack/react-query'
import { Link, useNavigate, useSearch } from '@tanstack/react-router'
import { Download, Upload, VenetianMask } from 'lucide-react'
import { useState } from 'react'
import { type DocumentProperties, documentQuery, maskingFunctions, type Policy } from '../../api/document.ts'
import { type DatabasePlace, pathOf } from '../../api/masking.ts'
import { selectNone, useSelected } from '../../shell/selected.ts'
import { t } from '../../texts/index.ts'
import { Button } from '../../ui/button.tsx'
import { DataTable } from '../../ui/data-table.tsx'
import { SearchField } from '../../ui/field.tsx'
import { Drawer } from '../../ui/layers.tsx'
import { saveFile } from '../../ui/save-file.ts'
import { Empty, Loaded } from '../../ui/states.tsx'
import { BulkMask } from './bulk-mask.tsx'
import { ContainmentSetting } from './containment-setting.tsx'
import { type Proposal, useDocumentChange } from './document-change.tsx'
import { ImportDrawer } from './import-drawer.tsx'
import { describeMask, labelColumn } from './masks.ts'
import { columnsFor, matches } from './rule-columns.tsx'
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
  const isOn = policy.dataMaskingState === 'Enabled'
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
      () => select(selectNone),
    )
  const change = (proposal: Proposal) => {
    setEditing(false)
    propose(proposal, () => select(selectNone))
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
      {policy.dataMaskingState === 'Enabled' && policy.enforcementMode !== 'Observe' ? null : (
        <PolicyLine policy={policy} />
      )}
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
        {mayWrite && (
          <Button onClick={() => turn(isOn ? 'Disabled' : 'Enabled')}>
            {isOn ? t.rules.turnOff : t.rules.turnOn}
          </Button>
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
      <ContainmentSetting policy={policy} onPropose={mayWrite ? propose : undefined} />
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
          draftName={`masks ${pathOf(place)} ${[...selected].join()}`}
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

/** Says that the rules mask nothing now, and why; the usual state needs no words. */
function PolicyLine({ policy: { dataMaskingState } }: { readonly policy: Policy }) {
  const isOn = dataMaskingState === 'Enabled'
  return (
    <div className={isOn ? 'notice' : 'notice warn'}>
      <VenetianMask size={16} aria-hidden />
      <span>{isOn ? t.rules.policyObserved : t.rules.policyOff}</span>
    </div>
  )
}
