import { Graph, layout } from '@dagrejs/dagre'
import { type Edge, MarkerType, type Node } from '@xyflow/react'
import type { Named } from '../../api/directory.ts'

export type Direction = 'up' | 'down'

export interface Box extends Record<string, unknown> {
  readonly group: Named
  /** Undefined for the group in the middle, which is open in both directions. */
  readonly direction: Direction | undefined
  readonly isOpen: boolean
  /** False for the box that says that there are more. */
  readonly isGroup: boolean
  readonly toggle: () => void
}

export interface Step {
  readonly id: string
  readonly direction: Direction
  readonly found: readonly Named[]
  readonly hasMore: boolean
}

const size = { width: 220, height: 56 }

interface Wishes {
  readonly toggle: (id: string, direction: Direction) => void
  readonly moreText: string
}

/** Boxes and arrows from each group to the groups in it. A group that is reached twice is drawn once. */
export function drawNesting(centre: Named, steps: readonly Step[], { toggle, moreText }: Wishes) {
  const boxes = new Map<string, Box>()
  const edges = new Map<string, Edge>()
  boxes.set(centre.id, {
    group: centre,
    direction: undefined,
    isOpen: true,
    isGroup: true,
    toggle: () => {},
  })
  for (const { id, direction, found, hasMore } of steps) {
    if (!boxes.has(id)) continue
    const rest: readonly Named[] = hasMore ? [{ id: `${id} ${direction}`, displayName: moreText }] : []
    for (const group of [...found, ...rest]) {
      if (!boxes.has(group.id))
        boxes.set(group.id, {
          group,
          direction,
          isOpen: steps.some((step) => step.id === group.id && step.direction === direction),
          isGroup: found.includes(group),
          toggle: () => toggle(group.id, direction),
        })
      const [source, target] = direction === 'up' ? [group.id, id] : [id, group.id]
      const name = `${source} ${target}`
      edges.set(name, { id: name, source, target, markerEnd: { type: MarkerType.ArrowClosed } })
    }
  }
  return { nodes: placeBoxes(boxes, [...edges.values()]), edges: [...edges.values()] }
}

function placeBoxes(boxes: ReadonlyMap<string, Box>, edges: readonly Edge[]): Node<Box>[] {
  const graph = new Graph()
  graph.setGraph({ rankdir: 'TB', nodesep: 24, ranksep: 64 })
  graph.setDefaultEdgeLabel(() => ({}))
  for (const id of boxes.keys()) graph.setNode(id, { ...size })
  for (const { source, target } of edges) graph.setEdge(source, target)
  layout(graph)
  return [...boxes].map(([id, data]) => {
    const { x, y } = graph.node(id) as { x: number; y: number }
    const position = { x: x - size.width / 2, y: y - size.height / 2 }
    return { id, type: 'group-box', data, position, ...size }
  })
}
