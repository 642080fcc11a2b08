import { type Static, Type } from 'typebox'
import { dateTime, nullableString, oneOf } from '../schemas.ts'

export const serviceDescription = Type.Object(
  {
    version: Type.String(),
    node: Type.Object({ hostName: Type.String(), runtime: Type.String(), startedAt: dateTime }),
    nodes: Type.Array(
      Type.Object({
        id: Type.String(),
        hostName: Type.String(),
        version: Type.String(),
        startedAt: dateTime,
        seenAt: dateTime,
        gatewaySessions: Type.Integer(),
        answers: Type.Boolean({ description: 'The node that answered this request' }),
      }),
    ),
    store: Type.Object({
      state: oneOf(['ready', 'unreachable', 'full']),
      kind: Type.String({ enum: ['embedded', 'external'] }),
      version: Type.String(),
    }),
    signingKeys: Type.Array(
      Type.Object({
        kid: Type.String(),
        activeFrom: dateTime,
        expiresAt: nullableString,
        signsNow: Type.Boolean(),
      }),
    ),
    certificate: Type.Object({ source: oneOf(['local CA', 'operator']), expiresAt: dateTime }),
    settings: Type.Array(
      Type.Object({
        name: Type.String(),
        value: nullableString,
        origin: Type.String({ enum: ['default', 'environment'] }),
        description: Type.String(),
      }),
    ),
  },
  { title: 'serviceDescription' },
)

export type ServiceDescription = Static<typeof serviceDescription>
