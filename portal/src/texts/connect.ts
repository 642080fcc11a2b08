/** How people log in at the gateway with programs of their own. */
export const connect = {
  title: 'Connect',
  host: 'Host',
  port: 'Port',
  database: 'Database',
  user: 'User name',
  copy: (what: string) => `Copy: ${what}`,
  byCommand: 'With the command line',
  byCommandText: 'It signs you in by your browser, and fetches a new token for each connection.',
  byToken: 'With psql, or any other client',
  byTokenText: 'The password is an access token. It opens sessions for an hour; open ones go on.',
  byCredential: 'With a tool that keeps its password',
  byCredentialText:
    'A report or an editor gets a credential: a password of its own, with your rights and masks.',
  hintCa:
    'masquerade-ca.pem holds the service’s own CA: ask the operator for it, and pass it to masquerade login by --ca.',
  hintBalancer: 'Behind a balancer, the gateway may have another host and port.',
} as const
