/** Stops the parts at the first call; later calls wait for the same stop. */
export function stopOnce(parts: AsyncDisposableStack, onStop: () => void): () => Promise<void> {
  let stopping: Promise<void> | undefined
  return () => {
    onStop()
    stopping ??= parts.disposeAsync()
    return stopping
  }
}
