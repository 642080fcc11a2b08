interface Step {
  readonly next: Map<string, Step>
  any: Step | undefined
}

/** Finds where a path leaves all known ones: its first segment that leads nowhere. */
export function deadEndFinder(knownPaths: readonly string[]): (path: string) => string {
  const root: Step = { next: new Map(), any: undefined }
  for (const path of knownPaths) addPath(root, path)
  return (path) => {
    let steps = [root]
    const segments = path.split('/').filter(Boolean)
    for (const segment of segments) {
      steps = steps
        .flatMap(({ next, any }) => [next.get(segment.toLowerCase()), any])
        .filter((step) => !!step)
      if (steps.length === 0) return decode(segment)
    }
    return decode(segments.at(-1) ?? '')
  }
}

function addPath(root: Step, path: string): void {
  let step = root
  for (const segment of path.split('/').filter(Boolean)) {
    const fresh: Step = { next: new Map(), any: undefined }
    if (segment.startsWith(':') || segment === '*') {
      step.any ??= fresh
      step = step.any
    } else {
      const known = step.next.get(segment.toLowerCase()) ?? fresh
      step.next.set(segment.toLowerCase(), known)
      step = known
    }
  }
}

function decode(segment: string): string {
  try {
    return decodeURIComponent(segment).slice(0, 200)
  } catch {
    return segment.slice(0, 200)
  }
}
