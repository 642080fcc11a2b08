import { Eye, VenetianMask } from 'lucide-react'
import { useEffect, useRef } from 'react'
import type { Preview } from '../../api/catalog.ts'
import { t } from '../../texts/index.ts'

export type Eyes = 'both' | 'raw' | 'masked'

/** So much of the column before stays in view. */
const beside = 64

/** Rows of a table, each masked column as the reader wants to see it: raw beside masked, or one of both. */
export function PreviewRows({
  preview: { columns, rows },
  eyesOf,
  drafted,
  areInForce,
}: {
  readonly preview: Preview
  readonly eyesOf: (column: string) => Eyes | 'hidden'
  readonly drafted: string | undefined
  readonly areInForce: boolean
}) {
  const isDoubled = ({ name, maskingFunction }: Preview['columns'][number]) =>
    eyesOf(name) === 'both' && maskingFunction !== null
  const frame = useRef<HTMLElement>(null)
  useEffect(() => {
    if (drafted !== undefined) showColumn(frame.current)
  }, [drafted])
  return (
    <section className="table-frame preview" ref={frame} tabIndex={0} aria-label={t.data.preview}>
      <table className="table">
        <thead>
          <tr>
            {columns.map((column) => {
              const { name, maskingFunction, isDraft } = column
              const mark = name === drafted ? ' drafted' : ''
              const label = isDraft ? t.data.draftHead : areInForce ? t.data.maskedHead : t.data.wouldHead
              const isLabelled =
                maskingFunction !== null && eyesOf(name) === 'masked' && label !== t.data.maskedHead
              return isDoubled(column) ? (
                <th key={name} colSpan={2} scope="colgroup" className={`doubled${mark}`}>
                  <span className="line">
                    <VenetianMask size={13} aria-hidden /> {name}
                    <span className="faint">
                      {t.data.rawHead} → {label}
                    </span>
                  </span>
                </th>
              ) : (
                <th key={name} scope="col" className={mark}>
                  <span className="line">
                    {maskingFunction !== null &&
                      (eyesOf(name) === 'raw' ? (
                        <Eye size={13} aria-hidden />
                      ) : (
                        <VenetianMask size={13} aria-hidden />
                      ))}
                    {name}
                    {isLabelled && <span className="faint">{label}</span>}
                  </span>
                </th>
              )
            })}
          </tr>
        </thead>
        <tbody>
          {rows.map((row, line) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: rows of a preview have no identity
            <tr key={line}>
              {columns.flatMap((column, at) => {
                const { name, maskingFunction } = column
                if (eyesOf(name) === 'hidden') return [<Hidden key={name} />]
                const raw = <Value key={`${name} raw`} value={row.raw?.[at] ?? null} />
                const masked = (
                  <Value key={name} value={row.values[at] ?? null} isMasked={maskingFunction !== null} />
                )
                if (isDoubled(column)) return [raw, masked]
                return eyesOf(name) === 'raw' ? [raw] : [masked]
              })}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  )
}

/** Scrolls the column with the draft into the frame, and nothing else. */
function showColumn(frame: HTMLElement | null): void {
  const head = frame?.querySelector<HTMLElement>('.drafted')
  if (!frame || !head) return
  const end = head.offsetLeft + head.offsetWidth
  const isInView = head.offsetLeft >= frame.scrollLeft && end <= frame.scrollLeft + frame.clientWidth
  if (!isInView) frame.scrollLeft = head.offsetLeft - beside
}

function Value({ value, isMasked = false }: { readonly value: string | null; readonly isMasked?: boolean }) {
  return (
    <td className="mono truncate preview-value">
      {value === null ? (
        <span className="faint">{t.data.nullValue}</span>
      ) : isMasked ? (
        <span className="masked">{value}</span>
      ) : (
        value
      )}
    </td>
  )
}

function Hidden() {
  return (
    <td className="preview-value">
      <span className="faint">{t.data.hiddenValue}</span>
    </td>
  )
}
