/** An element of an XML document. */
export interface Element {
  readonly name: string
  readonly attributes: Readonly<Record<string, string>>
  readonly children: readonly Element[]
}

export function element(
  name: string,
  attributes: Readonly<Record<string, string>> = {},
  children: readonly Element[] = [],
): Element {
  return { name, attributes, children }
}

export function renderXml(root: Element): string {
  return `<?xml version="1.0" encoding="utf-8"?>\n${render(root, '')}`
}

function render({ name, attributes, children }: Element, indent: string): string {
  const attached = Object.entries(attributes).map(([key, value]) => ` ${key}="${escapeText(value)}"`)
  const start = `${indent}<${name}${attached.join('')}`
  if (children.length === 0) return `${start}/>\n`
  return `${start}>\n${children.map((child) => render(child, `${indent}  `)).join('')}${indent}</${name}>\n`
}

function escapeText(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
}
