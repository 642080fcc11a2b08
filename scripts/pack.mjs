import { launch } from './launch.mjs'

await launch({ entry: import.meta.url, source: 'scripts/pack.ts', development: true })
