import { useQueryClient } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { type FormEvent, useState } from 'react'
import { Fault, send } from '../../api/call.ts'
import { databasesQuery, pathOf } from '../../api/masking.ts'
import { t } from '../../texts/index.ts'
import { Button } from '../../ui/button.tsx'
import { CodeBlock } from '../../ui/copy.tsx'
import { useDraft } from '../../ui/draft.ts'
import { SelectField, TextField } from '../../ui/field.tsx'
import { FaultNotice } from '../../ui/states.tsx'
import { toast } from '../../ui/toasts.tsx'

type Tls = keyof typeof t.welcome.tlsModes

/** What a reload keeps of the form. The password is not among it. */
const start = {
  server: 'main',
  name: '',
  host: 'localhost',
  port: '5432',
  database: '',
  user: '',
  tls: 'verify-full' as Tls,
}

/** Binds a database that answers; one that does not is not stored, and the statements that it lacks are shown. */
export function BindForm() {
  const { draft, setDraft, forgetDraft } = useDraft<typeof start>('binding')
  const values = { ...start, ...draft }
  const [password, setPassword] = useState('')
  const [error, setError] = useState<unknown>()
  const [isWorking, setWorking] = useState(false)
  const navigate = useNavigate()
  const client = useQueryClient()
  const field = (
    key: Exclude<keyof typeof start, 'tls'>,
    more: { hint?: string; autoComplete?: string; fault?: string | undefined } = {},
  ) => (
    <TextField
      label={t.welcome[key]}
      required
      value={values[key]}
      onChange={({ target }) => setDraft({ ...values, [key]: target.value })}
      {...more}
    />
  )
  const clear = () => {
    setDraft(undefined)
    setPassword('')
    setError(undefined)
  }
  const bind = async (event: FormEvent) => {
    event.preventDefault()
    setWorking(true)
    setError(undefined)
    const { server, name, host, port, database, user, tls } = values
    const place = { subscription: 'main', group: 'main', server, database: name }
    const binding = { host, port: Number(port), database, user, password, sslmode: tls }
    try {
      await send('PUT', pathOf(place), {
        body: { properties: { binding } },
        headers: { prefer: 'reachable' },
      })
      await client.invalidateQueries({ queryKey: databasesQuery.queryKey })
      forgetDraft()
      toast(t.welcome.done(name))
      void navigate({ to: '/databases/$subscription/$group/$server/$database/data', params: place })
    } catch (caught) {
      setError(caught)
    } finally {
      setWorking(false)
    }
  }
  const statements = statementsIn(error)
  return (
    <form className="bind-form" onSubmit={(event) => void bind(event)}>
      {field('name', { hint: t.welcome.nameHint })}
      {field('server', { hint: t.welcome.serverHint })}
      {field('host')}
      {field('port', { fault: isPort(values.port) ? undefined : t.welcome.portFault })}
      {field('database')}
      <SelectField
        label={t.welcome.tls}
        value={values.tls}
        onChange={(tls) => setDraft({ ...values, tls })}
        choices={(Object.keys(t.welcome.tlsModes) as Tls[]).map((value) => ({
          value,
          label: t.welcome.tlsModes[value],
        }))}
      />
      {field('user', { hint: t.welcome.userHint, autoComplete: 'off' })}
      <TextField
        label={t.welcome.password}
        hint={t.welcome.passwordHint}
        type="password"
        autoComplete="new-password"
        value={password}
        onChange={({ target }) => setPassword(target.value)}
      />
      {error !== undefined && (
        <div className="whole stack">
          <FaultNotice error={error} />
          {statements.length > 0 && <CodeBlock label={t.welcome.statements} text={statements.join('\n')} />}
        </div>
      )}
      <div className="whole line">
        <Button type="submit" tone="primary" disabled={isWorking || !isPort(values.port)}>
          {isWorking ? t.welcome.binding : t.welcome.bind}
        </Button>
        {draft && (
          <Button tone="ghost" disabled={isWorking} onClick={clear}>
            {t.states.clear}
          </Button>
        )}
      </div>
    </form>
  )
}

function isPort(text: string): boolean {
  return /^\d{1,5}$/.test(text.trim()) && Number(text) >= 1 && Number(text) <= 65_535
}

/** The statements that the service's refusal names, to be run by an owner of the database. */
function statementsIn(error: unknown): readonly string[] {
  if (!(error instanceof Fault)) return []
  return error.details.flatMap(
    ({ message }) =>
      / Run: (.*);$/s
        .exec(message)?.[1]
        ?.split('; ')
        .map((one) => `${one};`) ?? [],
  )
}
