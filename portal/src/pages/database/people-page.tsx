import { Exemptions } from './exemptions.tsx'
import { Mappings } from './mappings.tsx'
import './people.css'

/** The people who see raw values, and the roles that people log in as. */
export function PeoplePage() {
  return (
    <>
      <Exemptions />
      <Mappings />
    </>
  )
}
