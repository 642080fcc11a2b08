/**
 * Prefix of the comment on every login role: the controller writes it, and the gateway recognises login roles by it.
 */
export const loginMarkPrefix = 'masquerade login '
