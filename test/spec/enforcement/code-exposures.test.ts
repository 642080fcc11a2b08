import { clause } from '../../support/clause.ts'
import { forEachCluster } from '../../support/postgres.ts'
import { usePlays } from './play-exposures.ts'

/** Ways by which code of a masked role runs with the rights of a role that sees raw values, or on raw values. */
forEachCluster((cluster) => {
  const playAll = usePlays(cluster)

  clause(
    'ENF-112',
    'Functions and domains of masked roles that PostgreSQL applies to raw values are listed as high: functions of…',
    playAll('ENF-112'),
  )

  clause(
    'ENF-221',
    'Ways by which code of a masked role runs with the rights of a role that sees raw values are listed: REFERENCES and TRIGGER on…',
    playAll('ENF-221'),
  )

  clause(
    'ENF-413',
    'A table of a masked role counts as read by a view (ENF-221) also where a row policy of another table that the view reads is about it…',
    playAll('ENF-413'),
  )

  clause(
    'ENF-414',
    'A view of a masked role that a view, materialized view or rule of a role that sees raw values reads, at any depth, is listed…',
    playAll('ENF-414'),
  )

  clause(
    'ENF-415',
    'A SECURITY DEFINER function of a role that sees raw values, which a masked role may call or fire as a trigger, is listed …',
    playAll('ENF-415'),
  )

  clause(
    'ENF-416',
    'Objects of masked roles that such a function names are listed as high (`DefinerCode`): tables, views and functions, …',
    playAll('ENF-416'),
  )

  clause(
    'ENF-451',
    'A partition or child of a masked role below a table of a role that sees raw values, masked or not, is listed (`PartitionCode`): …',
    playAll('ENF-451'),
  )

  clause(
    'ENF-452',
    'Where a function (ENF-416) names a table, its partitions and children count as named too, and where a foreign key (ENF-221)…',
    playAll('ENF-452'),
  )

  clause(
    'ENF-453',
    'A table of a masked role that a materialized view of a role that sees raw values reads, at any depth and as a partition or child too, is listed…',
    playAll('ENF-453'),
  )

  clause(
    'ENF-454',
    'A SECURITY DEFINER function of a role that sees raw values, which a masked role may call, is listed as medium (`DefinerArgument`) …',
    playAll('ENF-454'),
  )

  clause(
    'ENF-456',
    'A masked role with SET or ALTER SYSTEM on `session_replication_role` or `event_triggers` is listed as medium (`ParameterGrant`)…',
    playAll('ENF-456'),
  )

  clause(
    'ENF-223',
    'Functions and domains of masked roles that relations of a role that sees raw values use, masked or not, are listed as high…',
    playAll('ENF-223'),
  )

  clause(
    'ENF-336',
    'A domain of a masked role that an expression of a role that sees raw values casts to is listed as high: in a check, index, …',
    playAll('ENF-336'),
  )

  clause(
    'ENF-337',
    'Functions of masked roles that a range type names to compare its bounds or to bring them into one form are listed …',
    playAll('ENF-337'),
  )
})
