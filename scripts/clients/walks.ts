import { readFileSync } from 'node:fs'
import path from 'node:path'
import {
  buildGo,
  installNpm,
  installPython,
  makeTrustStore,
  requireProgram,
  resolveMaven,
  trustStorePassword,
} from './install.ts'

interface Command {
  readonly program: string
  readonly args: readonly string[]
  readonly variables?: NodeJS.ProcessEnv
}

export interface Walk {
  readonly name: string
  /** A walk by `/openapi.json`: `npm run test:description` runs it. */
  readonly isOfDescription?: true
  /** Installs the clients; throws `Unavailable` where the machine cannot. */
  prepare(environment: NodeJS.ProcessEnv): Command
  /** Reads the number of checks and the versions from the output, where the walk is not one of `test/clients`. */
  readonly read?: (lines: readonly string[]) => { readonly checks: number; readonly versions: string }
}

const folder = path.resolve('test/clients')
const identity = ['azure-identity==1.27.0', 'msal==1.39.0']

function pythonWalk(name: string, file: string, packages: readonly string[]): Walk {
  return {
    name,
    prepare: () => ({
      program: path.join(installPython(packages), 'python'),
      args: [path.join(folder, 'python', file)],
      variables: { PYTHONDONTWRITEBYTECODE: '1' },
    }),
  }
}

function npmWalk(name: string, file: string, packages: readonly string[]): Walk {
  return {
    name,
    prepare: () => ({
      program: process.execPath,
      args: [path.join(folder, 'javascript', file)],
      variables: { WALK_MODULES: installNpm(packages) },
    }),
  }
}

/** Walks in JavaScript are tests of `npm test`, which has these clients installed. */
const javascript: Walk = {
  name: 'javascript',
  prepare: () => ({
    program: process.execPath,
    args: [
      'scripts/test.ts',
      'test/spec/tokens/azure-identity.test.ts',
      'test/spec/masking/arm-sql-client.test.ts',
      'test/spec/directory/graph-client.test.ts',
      'test/spec/directory/graph-client-extensions.test.ts',
      'test/spec/directory/batch.test.ts',
      'test/spec/directory/delta.test.ts',
    ],
  }),
  read: (lines) => ({
    checks: Number(/^(\d+) passed, 0 failed/.exec(lines.findLast(Boolean) ?? '')?.[1] ?? 0),
    versions: ['@azure/identity', '@azure/arm-sql', '@microsoft/microsoft-graph-client']
      .map(
        (name) => `${name} ${JSON.parse(readFileSync(`node_modules/${name}/package.json`, 'utf8')).version}`,
      )
      .join(', '),
  }),
}

function describedWalk(name: string, file: string, packages: readonly string[]): Walk {
  return {
    name,
    isOfDescription: true,
    prepare: () => ({
      program: path.join(installPython(packages), 'python'),
      args: [path.join(folder, 'description', file)],
      variables: { PYTHONDONTWRITEBYTECODE: '1' },
    }),
  }
}

export const walks: readonly Walk[] = [
  javascript,
  npmWalk('javascript-tokens', 'token-walk.ts', [
    '@azure/msal-node@7.2.1',
    'jwks-rsa@4.1.0',
    'jsonwebtoken@9.0.3',
  ]),
  pythonWalk('python-sql-3', 'masking_walk.py', [...identity, 'azure-mgmt-sql==3.0.1', 'six']),
  pythonWalk('python-sql-4', 'masking_walk.py', [...identity, 'azure-mgmt-sql==4.0.0']),
  pythonWalk('python-graph', 'graph_walk.py', [...identity, 'msgraph-sdk==1.65.0', 'deprecated']),
  pythonWalk('python-tokens', 'token_walk.py', [...identity, 'Authlib==1.9.5']),
  {
    name: 'go',
    prepare: () => ({ program: buildGo(path.join(folder, 'go')), args: [] }),
  },
  {
    name: 'java',
    prepare: ({ WALK_CA = '' }) => ({
      program: requireProgram('java'),
      args: [
        `-Djavax.net.ssl.trustStore=${makeTrustStore(WALK_CA)}`,
        `-Djavax.net.ssl.trustStorePassword=${trustStorePassword}`,
        '-cp',
        resolveMaven(path.join(folder, 'java')),
        path.join(folder, 'java/Walk.java'),
      ],
    }),
  },
  {
    name: 'az',
    prepare: () => ({
      program: path.join(installPython(['azure-cli==2.91.0']), 'python'),
      args: [path.join(folder, 'az/walk.py')],
    }),
  },
  {
    name: 'types',
    isOfDescription: true,
    prepare: () => ({ program: process.execPath, args: ['scripts/types.ts', '--check'] }),
  },
  describedWalk('python-generated', 'generated_walk.py', ['openapi-python-client==0.29.1']),
  {
    ...npmWalk('typescript-generated', 'generated-walk.ts', [
      'openapi-fetch@0.17.0',
      'openapi-typescript@7.13.0',
      'typescript@5.9.3',
    ]),
    isOfDescription: true,
  },
  // The last one: it may find and delete the application that the walks sign in as.
  describedWalk('schemathesis', 'schemathesis_walk.py', ['schemathesis==4.32.5']),
]
