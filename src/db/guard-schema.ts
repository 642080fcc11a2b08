/**
 * The name of the schema where the controller keeps its records, in the masked database itself: one transaction covers
 * both. Where another role has taken the name, a number follows it.
 */
export const guardSchema = 'masquerade_guard'
