/**
 * Numbers in one typed array, for walks: it is emptied and filled again without anything being made. A plain array gives
 * its memory back when it is emptied, and a walk empties one at every step.
 */
export class NumberList {
  items = new Int32Array(1024)
  count = 0

  push(number: number): void {
    if (this.count === this.items.length) {
      const larger = new Int32Array(this.count * 2)
      larger.set(this.items)
      this.items = larger
    }
    this.items[this.count++] = number
  }

  /** A copy that stays as it is when the list is used again. */
  toArray(): Int32Array {
    return this.items.slice(0, this.count)
  }
}
