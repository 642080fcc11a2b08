import { Exemptions } from './exemptions.tsx'
import { Mappings } from './mappings.tsx'
import { NotContained } from './not-contained.tsx'
import './people.css'

/** The people who see raw values, the roles that people log in as, and the roles that can get around the masks. */
export function PeoplePage() {
  return (
    <>
      <Exemptions />
      <Mappings />
      <NotContained />
    </>
  )
}
