import react from '@vitejs/plugin-react'
import { defineConfig } from 'vite'

/** `MASQUERADE_ORIGIN` names a running service for `npx vite portal`: its APIs are then reached through this server. */
const service = process.env.MASQUERADE_ORIGIN ?? 'http://localhost:8080'
const paths =
  '^/(?:v1\\.0|subscriptions|providers|\\.well-known|[^/]+/oauth2|oauth2|[^/]+/discovery|openapi\\.json|docs|healthz|readyz)'

export default defineConfig({
  root: import.meta.dirname,
  plugins: [react()],
  build: {
    target: 'es2023',
    emptyOutDir: true,
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    chunkSizeWarningLimit: 700,
  },
  server: { proxy: { [paths]: { target: service, changeOrigin: false } } },
})
