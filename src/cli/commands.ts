import type { Command, Commands } from './command.ts'

/**
 * Every command, in the order in which the help lists them. Each is loaded when it is asked for: printing a token should
 * not take the time of starting a service.
 */
const commands: Commands = {
  serve: async () => (await import('./serve.ts')).serve,
  status: async () => (await import('./status.ts')).status,
  token: async () => (await import('./token.ts')).token,
  login: async () => (await import('./login.ts')).login,
  logout: async () => (await import('./logout.ts')).logout,
  psql: async () => (await import('./psql.ts')).psql,
  application: async () => (await import('./application.ts')).application,
  credential: async () => (await import('./credential.ts')).credential,
  user: async () => (await import('./user.ts')).user,
  group: async () => (await import('./group.ts')).group,
  role: async () => (await import('./role.ts')).role,
  audit: async () => (await import('./audit.ts')).audit,
  admin: async () => (await import('./admin.ts')).admin,
  keys: async () => (await import('./keys.ts')).keys,
  database: async () => (await import('./database.ts')).database,
  rules: async () => (await import('./rules.ts')).rules,
  policy: async () => (await import('./policy.ts')).policy,
  mapping: async () => (await import('./mapping.ts')).mapping,
  recommendations: async () => (await import('./recommendations.ts')).recommendations,
  preview: async () => (await import('./preview.ts')).preview,
  exposures: async () => (await import('./exposures.ts')).exposures,
  containment: async () => (await import('./containment.ts')).containment,
  suspend: async () => (await import('./suspend.ts')).suspend,
  resume: async () => (await import('./suspend.ts')).resume,
  import: async () => (await import('./import.ts')).importCommand,
  export: async () => (await import('./export.ts')).exportCommand,
  backup: async () => (await import('./backup.ts')).backup,
  restore: async () => (await import('./restore.ts')).restore,
  migrate: async () => (await import('./migrate.ts')).migrate,
  doctor: async () => (await import('./doctor.ts')).doctor,
  ca: async () => (await import('./ca.ts')).ca,
  completion: async () => (await import('./completion.ts')).createCompletion(commands),
  version: async () => (await import('./version.ts')).versionCommand,
  help: async () => (await import('./help.ts')).createHelp(commands),
}

export const commandNames: readonly string[] = Object.keys(commands)

export function loadCommands(): Promise<Command[]> {
  return Promise.all(Object.values(commands).map((load) => load()))
}

export async function loadCommand(name: string): Promise<Command | undefined> {
  return Object.hasOwn(commands, name) ? await commands[name]?.() : undefined
}
