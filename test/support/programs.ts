import { spawn } from 'node:child_process'

export interface Ended {
  readonly code: number | null
  readonly out: string
  readonly errors: string
}

/** Where a program of PostgreSQL is to connect, as libpq reads it from the environment. */
export function connectTo(url: string): Record<string, string> {
  const { hostname, port, username, password, pathname } = new URL(url)
  return {
    PGHOST: hostname,
    PGPORT: port,
    PGUSER: decodeURIComponent(username),
    PGPASSWORD: decodeURIComponent(password),
    PGDATABASE: pathname.slice(1),
    PGSSLMODE: 'disable',
  }
}

/** Runs a program to its end. Settings of the machine's own account do not reach it. */
export function runProgram(
  command: string,
  args: readonly string[],
  environment: Record<string, string>,
  input: string | Buffer = '',
): Promise<Ended> {
  const inherited = Object.entries(process.env).filter(([name]) => !name.startsWith('PG'))
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { env: { ...Object.fromEntries(inherited), ...environment } })
    const out: Buffer[] = []
    const errors: Buffer[] = []
    child.stdout.on('data', (chunk) => out.push(chunk))
    child.stderr.on('data', (chunk) => errors.push(chunk))
    child.stdin.on('error', () => {})
    child.on('error', reject)
    child.on('close', (code) =>
      resolve({ code, out: Buffer.concat(out).toString(), errors: Buffer.concat(errors).toString() }),
    )
    child.stdin.end(input)
  })
}
