import type { GatewayLimits } from './ports.ts'

interface GatewaySettings {
  readonly gatewayConnections: number
  readonly gatewayConnectionsPerRole: number
  readonly gatewayProxies: readonly string[]
  readonly gatewayStartupSeconds: number
  readonly gatewayMessageBytes: number
  readonly gatewayIdleSeconds: number
  readonly gatewayWeakLogin: boolean
  readonly gatewayPlaintext: boolean
  readonly gatewayMaskedCopies: boolean
  readonly gatewayMaskNotices: boolean
}

export function readLimits(settings: GatewaySettings): GatewayLimits {
  return {
    connections: settings.gatewayConnections,
    connectionsPerRole: settings.gatewayConnectionsPerRole,
    proxies: settings.gatewayProxies,
    startupMs: settings.gatewayStartupSeconds * 1000,
    messageBytes: settings.gatewayMessageBytes,
    idleMs: settings.gatewayIdleSeconds * 1000,
    allowWeakLogin: settings.gatewayWeakLogin,
    allowPlaintext: settings.gatewayPlaintext,
    allowMaskedCopies: settings.gatewayMaskedCopies,
    tellsMasks: settings.gatewayMaskNotices,
  }
}
