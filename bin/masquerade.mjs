#!/usr/bin/env node
import { launch } from '../scripts/launch.mjs'

eraseNpmBanner()
await launch({ entry: import.meta.url, source: 'src/cli/main.ts' })

/** On a person's terminal, `npm start` shows our screen and nothing else: npm's own four lines go. */
function eraseNpmBanner() {
  const { npm_lifecycle_event: event, npm_config_loglevel: logLevel } = process.env
  const isStartedByNpm = event === 'start' && logLevel !== 'silent' && !process.channel
  const isBannerUnwrapped = process.argv.length === 3 && process.stdout.columns >= 40
  if (isStartedByNpm && process.stdout.isTTY && isBannerUnwrapped) process.stdout.write('\x1b[4A\x1b[0J')
}
