import { launch } from './launch.mjs'

await launch({ entry: import.meta.url, source: 'scripts/cluster.ts', development: true })
