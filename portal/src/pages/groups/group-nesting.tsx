import { useQueries } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { Handle, type Node, type NodeProps, Position, ReactFlow } from '@xyflow/react'
import { Minus, Plus } from 'lucide-react'
import { useState } from 'react'
import { directoryPath, type Group, type Listed, type Named, objectQuery } from '../../api/directory.ts'
import { t } from '../../texts/index.ts'
import { IconButton } from '../../ui/button.tsx'
import { FaultNotice } from '../../ui/states.tsx'
import { type Box, type Direction, drawNesting } from './draw-nesting.ts'
import '@xyflow/react/dist/base.css'
import './nesting.css'

const shown = 25
const paths: Readonly<Record<Direction, string>> = { up: 'memberOf', down: 'members' }

function neighboursQuery(id: string, direction: Direction) {
  return objectQuery<Listed<Named>>(
    directoryPath(`/groups/${id}/${paths[direction]}/vendor.graph.group`, {
      $top: String(shown),
      $select: 'id,displayName,description',
    }),
  )
}

/** The group in the middle, the groups it is in above, the groups in it below. Each is read when it is opened. */
export function GroupNesting({ group }: { readonly group: Group }) {
  const [opened, setOpened] = useState<readonly { readonly id: string; readonly direction: Direction }[]>([
    { id: group.id, direction: 'up' },
    { id: group.id, direction: 'down' },
  ])
  const answers = useQueries({ queries: opened.map(({ id, direction }) => neighboursQuery(id, direction)) })
  const toggle = (id: string, direction: Direction) => {
    const others = opened.filter((one) => one.id !== id || one.direction !== direction)
    setOpened(others.length < opened.length ? others : [...opened, { id, direction }])
  }
  const steps = opened.map((step, index) => ({
    ...step,
    found: answers[index]?.data?.value ?? [],
    hasMore: answers[index]?.data?.['@odata.nextLink'] !== undefined,
  }))
  const { nodes, edges } = drawNesting(group, steps, { toggle, moreText: t.groups.more(shown) })
  const isRead = answers.every(({ isSuccess }) => isSuccess)
  const fault = answers.find(({ error }) => error)?.error
  return (
    <div className="stack tight">
      {fault && <FaultNotice error={fault} />}
      <p className="quiet small">{isRead && nodes.length === 1 ? t.groups.alone : t.groups.nestingHint}</p>
      <div className="nesting">
        <ReactFlow
          key={nodes.length}
          nodes={nodes}
          edges={edges}
          nodeTypes={nodeTypes}
          fitView
          fitViewOptions={{ padding: 0.15, maxZoom: 1 }}
          minZoom={0.2}
          nodesDraggable={false}
          nodesConnectable={false}
          nodesFocusable={false}
          edgesFocusable={false}
          elementsSelectable={false}
          proOptions={{ hideAttribution: true }}
          aria-label={t.groups.nesting}
        />
      </div>
    </div>
  )
}

function GroupBox({ data: { group, direction, isOpen, isGroup, toggle } }: NodeProps<Node<Box>>) {
  const name = group.displayName ?? t.directory.unnamed
  return (
    <div className={direction ? 'nesting-box' : 'nesting-box centre-box'}>
      <Handle type="target" position={Position.Top} isConnectable={false} />
      {direction && isGroup ? (
        <Link
          to="/groups/$id"
          params={{ id: group.id }}
          search={{ tab: 'nesting' }}
          className="row-link truncate nopan"
        >
          {name}
        </Link>
      ) : (
        <strong className="truncate">{name}</strong>
      )}
      {direction && isGroup && (
        <IconButton
          label={direction === 'up' ? t.groups.expandUp(name) : t.groups.expandDown(name)}
          aria-expanded={isOpen}
          className="nopan"
          size="small"
          onClick={toggle}
        >
          {isOpen ? <Minus size={13} /> : <Plus size={13} />}
        </IconButton>
      )}
      <Handle type="source" position={Position.Bottom} isConnectable={false} />
    </div>
  )
}

const nodeTypes = { 'group-box': GroupBox }
