/** What the comment of every login role begins with: the controller makes them, the gateway knows them by it. */
export const loginMarkPrefix = 'masquerade login '
