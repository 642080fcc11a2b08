import { aliasNamespace, ownNamespace } from '../kernel/surface.ts'

const own = `${ownNamespace}.`
const extensionId = `${ownNamespace}.openTypeExtension.`
const naming = /(^|@)odata\.(type|context)$/

/** The text of a body in which types, contexts and ids of extensions have the other namespace. */
export function writeAliased(body: unknown): string {
  if (typeof body === 'string')
    return body.startsWith('<?xml') ? body.replaceAll(ownNamespace, aliasNamespace) : body
  return JSON.stringify(body, (key, value: unknown) => {
    if (typeof value !== 'string') return value
    const isNamed = naming.test(key) || (key === 'id' && value.startsWith(extensionId))
    return isNamed ? nameAliased(value) : value
  })
}

/** A text of ours in the words of the other namespace. */
export function nameAliased(text: string): string {
  return text.replaceAll(own, `${aliasNamespace}.`)
}
