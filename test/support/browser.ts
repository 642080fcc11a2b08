interface Cookie {
  readonly name: string
  readonly value: string
  readonly host: string
  readonly path: string
  readonly secure: boolean
}

export interface Page {
  readonly url: URL
  readonly status: number
  readonly headers: Headers
  readonly html: string
}

/** As much of a browser as a page without scripts needs: cookies, redirects, forms. */
export class Browser {
  readonly cookies: Cookie[] = []
  /** Where it went, redirects included. */
  readonly visited: URL[] = []
  /** A redirect to one of these origins is where the client takes over. */
  readonly #clientOrigins: readonly string[]
  #stays = false

  constructor(...clientOrigins: string[]) {
    this.#clientOrigins = clientOrigins
  }

  open(url: string | URL): Promise<Page> {
    return this.#go(new URL(url), { method: 'GET' })
  }

  /** Sends the page's only form, with the button of that name pressed if one is named. */
  submit(
    page: Page,
    fields: Record<string, string> = {},
    headers: Record<string, string> = {},
  ): Promise<Page> {
    const form = readForm(page.html)
    if (!form) throw new Error(`no form on the page: ${page.status} ${page.html}`)
    const body = new URLSearchParams({ ...form.hidden, ...fields })
    return this.#go(new URL(form.action, page.url), { method: 'POST', body, headers })
  }

  /** Sends the page's only form, and returns the address that it redirects to without going there. */
  async submitOnly(page: Page, fields: Record<string, string>): Promise<URL> {
    this.#stays = true
    try {
      return (await this.submit(page, fields)).url
    } finally {
      this.#stays = false
    }
  }

  async #go(url: URL, init: RequestInit): Promise<Page> {
    this.visited.push(url)
    if (this.#clientOrigins.includes(url.origin)) return { url, status: 0, headers: new Headers(), html: '' }
    const headers = new Headers(init.headers)
    headers.set('accept', 'text/html')
    headers.set('cookie', this.#cookiesFor(url))
    const response = await fetch(url, { ...init, headers, redirect: 'manual' })
    for (const line of response.headers.getSetCookie()) this.#keep(line, url)
    const location = response.headers.get('location')
    if (response.status >= 300 && response.status < 400 && location) {
      await response.body?.cancel()
      if (this.#stays)
        return { url: new URL(location, url), status: response.status, headers: response.headers, html: '' }
      return this.#go(new URL(location, url), { method: 'GET' })
    }
    return { url, status: response.status, headers: response.headers, html: await response.text() }
  }

  #cookiesFor(url: URL): string {
    return this.cookies
      .filter(({ host, path, secure }) => {
        if (host !== url.hostname || (secure && url.protocol !== 'https:')) return false
        return path === '/' || url.pathname === path || url.pathname.startsWith(`${path}/`)
      })
      .map(({ name, value }) => `${name}=${value}`)
      .join('; ')
  }

  #keep(line: string, url: URL): void {
    const [pair = '', ...attributes] = line.split(/;\s*/)
    const [name = '', value = ''] = pair.split(/=(.*)/s)
    const attribute = (wanted: string) =>
      attributes.find((one) => one.toLowerCase().startsWith(`${wanted}=`))?.slice(wanted.length + 1)
    const cookie = {
      name,
      value,
      host: url.hostname,
      path: attribute('path') ?? '/',
      secure: attributes.some((one) => one.toLowerCase() === 'secure'),
    }
    const at = this.cookies.findIndex((one) => one.name === name && one.path === cookie.path)
    if (at >= 0) this.cookies.splice(at, 1)
    const expires = attribute('expires')
    if (value !== '' && !(expires && new Date(expires) < new Date())) this.cookies.push(cookie)
  }
}

function readForm(html: string): { action: string; hidden: Record<string, string> } | null {
  const form = /<form method="post" action="([^"]*)">/.exec(html)
  if (!form) return null
  const hidden = [...html.matchAll(/<input type="hidden" name="([^"]*)" value="([^"]*)"/g)].map(
    ([, name = '', value = '']): [string, string] => [name, unescapeHtml(value)],
  )
  return { action: unescapeHtml(form[1] ?? ''), hidden: Object.fromEntries(hidden) }
}

function unescapeHtml(text: string): string {
  return text
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&quot;', '"')
    .replaceAll('&#39;', "'")
    .replaceAll('&amp;', '&')
}
