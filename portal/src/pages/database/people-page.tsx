import { Exemptions } from './exemptions.tsx'
import { Mappings } from './mappings.tsx'
import './people.css'

/** Who sees raw values, and who logs in as what. */
export function PeoplePage() {
  return (
    <>
      <Exemptions />
      <Mappings />
    </>
  )
}
