import { useQuery } from '@tanstack/react-query'
import { databasesQuery } from '../../api/masking.ts'
import { scopesOf } from '../../api/role-assignments.ts'
import { namesOf } from '../../directory/scope-link.tsx'
import { t } from '../../texts/index.ts'
import { SelectField } from '../../ui/field.tsx'

/** The scopes of the databases that the reader sees. */
export function ScopeField({
  value,
  onChange,
}: {
  readonly value: string
  readonly onChange: (scope: string) => void
}) {
  const { data = [] } = useQuery(databasesQuery)
  return (
    <SelectField
      label={t.audit.where}
      value={value}
      onChange={onChange}
      choices={scopesOf(data).map((scope) => ({
        value: scope,
        label: scope === '' ? t.audit.everywhere : namesOf(scope).join(' / '),
      }))}
    />
  )
}
