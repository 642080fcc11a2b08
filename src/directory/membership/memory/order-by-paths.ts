/**
 * An order of the objects `0` to `count - 1` in which a walk from a member to its containers finds most of them side by side:
 * after each object comes the container that it is in first, and so on upwards. In the order of a table, each step of a
 * walk would wait for another part of the memory.
 */
export function orderByPaths(count: number, members: Int32Array, containers: Int32Array): Int32Array {
  const above = new Int32Array(count).fill(-1)
  const isAbove = new Uint8Array(count)
  for (let edge = 0; edge < members.length; edge++) {
    const member = members[edge] as number
    const container = containers[edge] as number
    if (above[member] === -1) above[member] = container
    isAbove[container] = 1
  }
  const order = new Int32Array(count)
  const isPlaced = new Uint8Array(count)
  let placed = 0
  const placePath = (start: number) => {
    for (let at = start; at >= 0 && !isPlaced[at]; at = above[at] as number) {
      isPlaced[at] = 1
      order[placed++] = at
    }
  }
  // From the lowest ones first, so that paths are long; then circles, which have no lowest one.
  for (let start = 0; start < count; start++) if (!isAbove[start]) placePath(start)
  for (let start = 0; start < count; start++) placePath(start)
  return order
}
