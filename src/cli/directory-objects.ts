import { pathPrefix } from '../kernel/surface.ts'
import { type Api, type ApiValues, apiOptions, listAll, openApi } from './api.ts'
import { refuseUse } from './command.ts'
import { findPrincipal, type Principal, quoteText } from './principals.ts'
import { report } from './surroundings.ts'
import { renderTable, showText } from './table.ts'

/** Options of the commands about users and groups. */
export const objectOptions = {
  ...apiOptions,
  search: { type: 'string' },
  filter: { type: 'string' },
  limit: { type: 'string' },
  set: { type: 'string', multiple: true },
} as const

export const objectHelp = `
  --search TEXT    List those whose name begins with the text.
  --filter EXPR    List those that an OData filter selects, as in docs/queries.md.
  --limit N        List no more than that.
  --set NAME=VALUE Set another property, by the name that the API has for it. 'null' clears it. May be given several times.`

interface ListValues extends ApiValues {
  readonly json?: boolean | undefined
  readonly search?: string | undefined
  readonly filter?: string | undefined
  readonly limit?: string | undefined
  readonly set?: string[] | undefined
}

/** One kind of directory object, in the words of a command. */
interface ObjectNoun {
  readonly noun: 'user' | 'group'
  readonly set: 'users' | 'groups'
  /** Columns of the list, by the names of the API. */
  readonly columns: readonly string[]
  /** Properties that `--search` compares. */
  readonly names: readonly string[]
  find(api: Api, name: string): Promise<Principal>
  /** The properties that `show` prints. */
  read(api: Api, id: string): Promise<Shown>
}

export type Shown = Readonly<Record<string, unknown>> & { readonly id: string }

/** The verbs that users and groups have in common. */
export function objectVerbs(kind: ObjectNoun) {
  const path = `${pathPrefix.directory}/${kind.set}`
  const { noun } = kind
  return {
    list: {
      async run(values: ListValues & { readonly disabled?: boolean | undefined }) {
        const api = await openApi(values)
        const query = [`$select=${kind.columns.join(',')}`, '$top=999', ...readFilter(kind, values)]
        const found = await listAll<Shown>(api, `${path}?${query.join('&')}`, readLimit(noun, values.limit))
        const rows = found.map((one) => kind.columns.map((column) => showValue(one[column])))
        report(values, found, renderTable(kind.columns, rows, `There is no such ${noun}.`))
        return 0
      },
    },
    show: {
      takes: [noun.toUpperCase()],
      async run(values: ListValues, name: string) {
        const api = await openApi(values)
        const shown = await kind.read(api, (await kind.find(api, name)).id)
        report(values, shown, renderProperties(shown))
        return 0
      },
    },
    set: {
      takes: [noun.toUpperCase()],
      async run(values: ListValues, name: string) {
        const changes = readProperties(noun, values.set)
        if (Object.keys(changes).length === 0) return refuseUse(noun, 'Say what to set: --set NAME=VALUE')
        const api = await openApi(values)
        const { id } = await kind.find(api, name)
        await api.send('PATCH', `${path}/${id}`, changes)
        report(values, { id, ...changes }, `${name}: ${Object.keys(changes).join(', ')} set.\n`)
        return 0
      },
    },
    remove: {
      takes: [noun.toUpperCase()],
      async run(values: ListValues, name: string) {
        const api = await openApi(values)
        const { id } = await kind.find(api, name)
        await api.send('DELETE', `${path}/${id}`)
        const hint = `To bring the ${noun} back: masquerade ${noun} restore ${id}\n`
        report(values, { id, removed: true }, `${name} is removed. ${hint}`)
        return 0
      },
    },
    restore: {
      takes: ['ID'],
      async run(values: ListValues, id: string) {
        const api = await openApi(values)
        const place = `${pathPrefix.directory}/directory/deletedItems/${encodeURIComponent(id)}/restore`
        const { body } = await api.send<Shown>('POST', place, {})
        report(values, body, `${showValue(body.userPrincipalName ?? body.displayName)} is back.\n`)
        return 0
      },
    },
  }
}

/** A name that stands for an object, looked up once each. */
export async function findAll(api: Api, names: readonly string[]): Promise<Principal[]> {
  const found: Principal[] = []
  for (const name of names) found.push({ name, ...(await findPrincipal(api, name)) })
  return found
}

/** `NAME=VALUE` as properties: true, false, null, numbers and JSON lists are themselves, all else is text. */
export function readProperties(command: string, pairs: readonly string[] = []): Record<string, unknown> {
  return Object.fromEntries(
    pairs.map((pair) => {
      const [, name, value] = /^([A-Za-z_]\w*)=(.*)$/s.exec(pair) ?? []
      if (name === undefined || value === undefined)
        return refuseUse(command, `--set takes NAME=VALUE, and not '${pair.slice(0, 100)}'`)
      if (/^password/i.test(name))
        return refuseUse(command, `A password is set by 'masquerade user set-password'`)
      return [name, readValue(value)]
    }),
  )
}

function readValue(text: string): unknown {
  if (!/^(true|false|null|\[.*\])$/s.test(text)) return text
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

function readFilter(
  { names }: ObjectNoun,
  { search, filter, disabled }: ListValues & { disabled?: boolean | undefined },
) {
  const parts = [
    ...(search ? [names.map((name) => `startswith(${name},${quoteText(search)})`).join(' or ')] : []),
    ...(filter ? [filter] : []),
    ...(disabled ? ['accountEnabled eq false'] : []),
  ]
  return parts.length === 0
    ? []
    : [`$filter=${encodeURIComponent(parts.map((one) => `(${one})`).join(' and '))}`]
}

export function readLimit(command: string, text: string | undefined): number {
  if (text === undefined) return Number.POSITIVE_INFINITY
  return /^[1-9]\d{0,8}$/.test(text) ? Number(text) : refuseUse(command, '--limit takes a number from 1')
}

/** A value of a property on a terminal. */
export function showValue(value: unknown): string {
  if (value === undefined || value === null) return ''
  if (Array.isArray(value) && value.every((item) => typeof item === 'string'))
    return showText(value.join(', '))
  return showText(typeof value === 'string' ? value : JSON.stringify(value))
}

/** Properties of one object, a line each. */
function renderProperties(object: Readonly<Record<string, unknown>>): string {
  const shown = Object.entries(object).filter(
    ([name, value]) =>
      !name.startsWith('@') &&
      value !== null &&
      value !== undefined &&
      !(Array.isArray(value) && value.length === 0),
  )
  return shown.map(([name, value]) => `${name}: ${showValue(value)}\n`).join('')
}
