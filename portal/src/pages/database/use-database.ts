import { useQuery } from '@tanstack/react-query'
import { useParams } from '@tanstack/react-router'
import { useMemo } from 'react'
import {
  allows,
  type DatabasePlace,
  databasesQuery,
  pathOf,
  permissionsQuery,
  placeOf,
  type VisibleDatabase,
} from '../../api/masking.ts'

/** The database that the address names. */
export function useDatabasePlace(): DatabasePlace {
  const { subscription, group, server, database } = useParams({
    from: '/databases/$subscription/$group/$server/$database',
  })
  return useMemo(() => ({ subscription, group, server, database }), [subscription, group, server, database])
}

export function useVisibleDatabase(): VisibleDatabase | undefined {
  const path = pathOf(useDatabasePlace()).toLowerCase()
  const { data } = useQuery({
    ...databasesQuery,
    select: (all) => all.find((one) => pathOf(placeOf(one)).toLowerCase() === path),
  })
  return data
}

const policies = 'Vendor.Sql/servers/databases/dataMaskingPolicies'

export interface Rights {
  /** False until it is known, too. */
  readonly mayRead: boolean
  readonly isKnown: boolean
  readonly mayWrite: boolean
  readonly mayPreview: boolean
  readonly maySeeImpact: boolean
  readonly mayMap: boolean
  readonly mayReadAudit: boolean
}

/** The actions that the person's roles allow at this database; none while that is not known. */
export function useRights(): Rights {
  const { data = [], isSuccess } = useQuery(permissionsQuery(pathOf(useDatabasePlace())))
  return {
    mayRead: allows(data, `${policies}/read`) && allows(data, 'Vendor.Sql/servers/databases/read'),
    isKnown: isSuccess,
    mayWrite: allows(data, `${policies}/write`),
    mayPreview: allows(data, `${policies}/preview/action`),
    maySeeImpact: allows(data, `${policies}/impact/action`),
    mayMap: allows(data, 'Vendor.Sql/servers/databases/roleMappings/write'),
    mayReadAudit: allows(data, 'Vendor.Sql/auditEvents/read'),
  }
}
