import { mallory, mask, turnCases, victim } from '../turn-case.ts'

const client = 'hr.client.mail'
/** 28 levels of views that read both of the level below, as invoker where `option` says so: 2^28 ways to the table. */
const tower = (option: string) =>
  Array.from({ length: 28 }, (_, at) =>
    ['a', 'b'].map((side) => {
      const [one, other] = at === 0 ? ['hr.client', 'hr.client'] : [`lair.a${at - 1}`, `lair.b${at - 1}`]
      return `create view lair.${side}${at} ${option} as select x.* from ${one} x, ${other} y`
    }),
  )
    .flat()
    .join(';; ')

export const towers = turnCases('contained', ['ENF-67'], {
  'views that are reached by very many ways': [
    mallory(tower('')),
    mask(client),
    victim.seesMasks('select mail from masked_hr.client'),
    mallory.isDenied('select mail from hr.client'),
  ],
  'views as invoker that are reached by very many ways': {
    since: 15,
    steps: [
      mallory(tower('with (security_invoker)')),
      mask(client),
      victim.seesMasks('select mail from masked_hr.client'),
      mallory.isDenied('select mail from hr.client'),
    ],
  },
})
