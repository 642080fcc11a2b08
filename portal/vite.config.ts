import react from '@vitejs/plugin-react'
import { defineConfig } from 'vite'

/** `MASQUERADE_ORIGIN` names a running service for `npx vite portal`: its APIs are then reached through this server. */
const service = process.env.MASQUERADE_ORIGIN ?? 'http://localhost:8080'
const paths =
  '^/(?:v1\\.0|subscriptions|providers|\\.well-known|[^/]+/oauth2|oauth2|[^/]+/discovery|openapi\\.json|docs|healthz|readyz)'

/**
 * Two files instead of fifty: what a sign-in takes, and what every page takes. Libraries that some pages need alone stay with
 * those pages.
 */
const chunks = [
  {
    name: 'sign-in',
    test: /portal\/src\/(main|session\/\w[\w-]*)\.ts$|oauth4webapi|vite\/preload-helper/,
    priority: 2,
  },
  {
    name: 'frame',
    test: /portal\/src\/(app|router|texts|shell|api|ui\/(?!chart|sql-editor)|pages\/overview|session\/.*\.tsx)|node_modules\/(react|scheduler|@tanstack|radix-ui|@radix-ui|lucide-react|react-remove-scroll|aria-hidden)/,
    priority: 1,
  },
]

export default defineConfig({
  root: import.meta.dirname,
  plugins: [react()],
  build: {
    target: 'es2023',
    emptyOutDir: true,
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    chunkSizeWarningLimit: 700,
    rolldownOptions: { output: { codeSplitting: { groups: chunks } } },
  },
  server: { proxy: { [paths]: { target: service, changeOrigin: false } } },
})
