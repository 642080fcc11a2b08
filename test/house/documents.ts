import { posix } from 'node:path'
import type { SourceFile } from './tree.ts'

const folders = ['.ci', 'bench', 'bin', 'docs', 'portal', 'scripts', 'spec', 'sql', 'src', 'test']
const topFile = /^(LICENSE|[\w-]+\.(md|json))$/
const placeholder = /[<>{}…]|NNNN|\.\.\./

function dropFences(markdown: string): string {
  return markdown.replace(/^( *)```[\s\S]*?^\1```/gm, '')
}

/** The paths of this repository that a document names in backticks, also within a command. */
export function listNamedPaths(markdown: string): string[] {
  return [...dropFences(markdown).matchAll(/`([^`\n]+)`/g)]
    .flatMap((match) => (match[1] ?? '').split(/\s+/))
    .map((word) => word.replace(/^\.\//, '').replace(/(:\d+|#.*|[,;.])$/, ''))
    .filter(
      (word) => topFile.test(word) || (word.includes('/') && folders.includes(word.split('/')[0] ?? '')),
    )
    .filter((word) => !placeholder.test(word))
}

type Link = { path: string; anchor: string }

/** The links of a document that lead into this repository: from the document's folder to a path from the top. */
export function listLinks({ path, text }: SourceFile): Link[] {
  return [...dropFences(text).matchAll(/\]\(<?([^)\s>]+)>?[^)]*\)/g)]
    .map((match) => match[1] ?? '')
    .filter((target) => !/^[a-z][a-z0-9+.-]*:/i.test(target))
    .map((target) => {
      const [file = '', anchor = ''] = target.split('#')
      return { path: file ? posix.join(posix.dirname(path), decodeURI(file)) : path, anchor }
    })
}

/** The anchors that the headings of a document give. */
export function listAnchors(markdown: string): string[] {
  return [...dropFences(markdown).matchAll(/^#+ +(.+)$/gm)].map((match) =>
    (match[1] ?? '')
      .trim()
      .toLowerCase()
      .replace(/[^\p{L}\p{N}\s_-]/gu, '')
      .replace(/\s/g, '-'),
  )
}
