import { launch } from './launch.mjs'

await launch({ entry: import.meta.url, program: 'scripts/clients.ts', development: true })
