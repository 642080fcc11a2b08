import { writeFileSync } from 'node:fs'
import { renderPermissions } from '../src/auth/permissions-page.ts'
import { renderCommands } from '../src/cli/commands-page.ts'
import { renderSettings } from '../src/cli/settings-page.ts'
import { renderQueries } from '../src/directory/objects/queries-page.ts'
import { renderErrors } from '../src/http/errors-page.ts'
import { renderExposures } from './exposures-page.ts'

// npm run docs: the pages that are made from tables in the code.
const docs = new URL('../docs/', import.meta.url)
writeFileSync(new URL('settings.md', docs), renderSettings())
writeFileSync(new URL('errors.md', docs), renderErrors())
writeFileSync(new URL('permissions.md', docs), renderPermissions())
writeFileSync(new URL('queries.md', docs), renderQueries())
writeFileSync(new URL('commands.md', docs), await renderCommands())
writeFileSync(new URL('exposures.md', docs), renderExposures())
