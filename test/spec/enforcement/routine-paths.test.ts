import { clause } from '../../support/clause.ts'
import { forEachCluster } from '../../support/postgres.ts'
import { usePlays } from './play-exposures.ts'

/** Functions of a masked table that a reader or writer leads to objects of its own. */
forEachCluster((cluster) => {
  const playAll = usePlays(cluster)

  clause(
    'ENF-467',
    'A function in text that PostgreSQL calls with a masked column, and whose names can lead to objects of a masked role, is listed (`RoutineSearchPath`)…',
    playAll('ENF-467'),
  )

  clause(
    'ENF-499',
    'A body in standard SQL that casts to a domain calls the functions of the checks of that domain: …',
    playAll('ENF-499'),
  )

  clause(
    'ENF-500',
    'Functions that a row policy or rule of another relation calls with a column of the masked one are listed as `RoutineSearchPath` too…',
    playAll('ENF-500'),
  )
})
