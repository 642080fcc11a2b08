/** Where the controller keeps what it wrote down, in the masked database itself: one transaction covers both. */
export const guardSchema = 'masquerade_guard'
