import { access } from './access.ts'
import { activity } from './activity.ts'
import { applications } from './applications.ts'
import { audit } from './audit.ts'
import { changes } from './changes.ts'
import { connect } from './connect.ts'
import { containment } from './containment.ts'
import { credentials } from './credentials.ts'
import { data } from './data.ts'
import { database } from './database.ts'
import { databases } from './databases.ts'
import { directory } from './directory.ts'
import { exposures } from './exposures.ts'
import { groups } from './groups.ts'
import { impact } from './impact.ts'
import { overview } from './overview.ts'
import { persons } from './persons.ts'
import { query } from './query.ts'
import { roles } from './roles.ts'
import { rules } from './rules.ts'
import { session } from './session.ts'
import { shell } from './shell.ts'
import { states } from './states.ts'
import { system } from './system.ts'
import { welcome } from './welcome.ts'
import { why } from './why.ts'

/** Every text that the portal shows. A page adds a file of its own; another language would be another of these. */
export const t = {
  shell,
  session,
  states,
  changes,
  overview,
  databases,
  database,
  data,
  rules,
  exposures,
  containment,
  impact,
  directory,
  persons,
  groups,
  why,
  applications,
  roles,
  credentials,
  connect,
  audit,
  system,
  access,
  activity,
  query,
  welcome,
} as const
