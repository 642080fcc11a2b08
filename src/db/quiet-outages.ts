import type { Logger } from 'pino'
import type { StoreHealth } from './store-health.ts'

/** A log in which failures that the state of the store explains are details: the change of state was logged. */
export function quietOutages(log: Logger, health: StoreHealth): Logger {
  return new Proxy(log, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name)
      if (typeof value !== 'function') return value
      if (name === 'child')
        return (...args: Parameters<Logger['child']>) =>
          quietOutages(target.child(...args) as unknown as Logger, health)
      if (name !== 'warn' && name !== 'error') return value.bind(target)
      return (first: unknown, ...rest: unknown[]) => {
        const error = typeof first === 'object' && first !== null && 'err' in first ? first.err : undefined
        const method = health.explains(error) ? target.debug : value
        Reflect.apply(method, target, [first, ...rest])
      }
    },
  })
}
