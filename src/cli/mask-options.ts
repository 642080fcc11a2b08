/** The options by which a command line says how to mask. */
export const maskOptions = {
  column: { type: 'string' },
  function: { type: 'string' },
  from: { type: 'string' },
  to: { type: 'string' },
  prefix: { type: 'string' },
  suffix: { type: 'string' },
  replacement: { type: 'string' },
} as const

type MaskValues = { readonly [name in keyof typeof maskOptions]?: string }

/** The properties of a rule that they stand for; what was not given is left out. */
export function readMaskProperties({ from, to, prefix, suffix, replacement }: MaskValues) {
  return {
    ...(from !== undefined && { numberFrom: from }),
    ...(to !== undefined && { numberTo: to }),
    ...(prefix !== undefined && { prefixSize: prefix }),
    ...(suffix !== undefined && { suffixSize: suffix }),
    ...(replacement !== undefined && { replacementString: replacement }),
  }
}
