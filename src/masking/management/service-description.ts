import { type Static, Type } from 'typebox'
import { dateTime, nullableString } from '../schemas.ts'

export const serviceDescription = Type.Object(
  {
    version: Type.String(),
    node: Type.Object({ hostName: Type.String(), runtime: Type.String(), startedAt: dateTime }),
    store: Type.Object({
      state: Type.String(),
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
    certificate: Type.Object({ source: Type.String(), expiresAt: dateTime }),
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
