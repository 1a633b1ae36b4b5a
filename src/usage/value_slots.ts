/**
 * Assigns slots, which are small numbers, to the values of a label, so that sums of many steps can
 * be added up in arrays: with half a million values, a map of names takes ten times as long. A
 * value is identified by eight bytes, its id. A slot that no held step uses any more is given to
 * another value once nobody is reading.
 */
export class ValueSlots {
  /** Both halves of a value's id, by slot. */
  #high = new Uint32Array(firstSlots);
  #low = new Uint32Array(firstSlots);
  /** Number of slots that were ever assigned. */
  #length = 0;
  #free: number[] = [];
  /**
   * A hash table with four words per cell: both halves of the id, the slot plus one (0: empty), and
   * one unused. A value's cell is given by the first bits of its id, or is the next free one. The
   * values of a step, sorted by id, are thus found from the first cell to the last, which suits the
   * processor's cache.
   */
  #cells = new Uint32Array(2 * firstSlots * cellLength);
  /** Number of low bits of an id's first half that its cell doesn't depend on. */
  #shift = 32 - Math.log2(2 * firstSlots);
  /** Number of held steps. */
  #held = 0;
  /** Number of values in steps that were released since unused slots were last freed. */
  #released = 0;
  #readers = 0;

  /** Number of slots; each slot is below it. */
  get length(): number {
    return this.#length;
  }

  get bytes(): number {
    return 2 * this.#high.byteLength + this.#cells.byteLength + 8 * this.#free.length;
  }

  /** Whether no step is held and nobody reads. */
  get isIdle(): boolean {
    return this.#held === 0 && this.#readers === 0;
  }

  /**
   * Keeps all slots assigned until `read` has ended. `held` returns the slots of all held steps.
   */
  async reading<T>(held: () => Iterable<Uint32Array>, read: () => Promise<T>): Promise<T> {
    this.#readers++;
    try {
      return await read();
    } finally {
      if (--this.#readers === 0 && this.#released > this.#length) this.#forgetUnused(held());
    }
  }

  /**
   * Returns the slots of values, and assigns new ones; `ids` has both halves of each id. It is a
   * single loop with local variables, because it takes half of the time of a read.
   */
  slotsOf(ids: Uint32Array): Uint32Array {
    const slots = new Uint32Array(ids.length / 2);
    this.reserve(slots.length);
    const [cells, shift, highs, lows] = [this.#cells, this.#shift, this.#high, this.#low];
    for (let at = 0; at < slots.length; at++) {
      const high = ids[2 * at]!;
      const low = ids[2 * at + 1]!;
      const cell = cellOf(cells, shift, high, low);
      if (cells[cell + 2] === 0) {
        const slot = this.#free.pop() ?? this.#length++;
        highs[slot] = high;
        lows[slot] = low;
        cells[cell] = high;
        cells[cell + 1] = low;
        cells[cell + 2] = slot + 1;
      }
      slots[at] = cells[cell + 2]! - 1;
    }
    return slots;
  }

  /** Counts a step as held. */
  hold(): void {
    this.#held++;
  }

  /** Ends the holding of a step with this many values. */
  release(values: number): void {
    this.#held--;
    this.#released += values;
  }

  /** Compares the values of two slots, in an order that depends only on the values. */
  compare(one: number, other: number): number {
    return this.#high[one]! - this.#high[other]! || this.#low[one]! - this.#low[other]!;
  }

  /** Makes room for this many more values. Half of the cells stay empty, to keep searches short. */
  reserve(more: number): void {
    const needed = this.#length + more;
    if (needed <= this.#high.length) return;
    const length = 2 ** Math.ceil(Math.log2(needed));
    this.#high = enlarged(this.#high, length);
    this.#low = enlarged(this.#low, length);
    this.#fillCells();
  }

  #fillCells(): void {
    const count = 2 * this.#high.length;
    this.#shift = 32 - Math.log2(count);
    this.#cells = new Uint32Array(count * cellLength);
    const [cells, shift, free] = [this.#cells, this.#shift, new Set(this.#free)];
    for (let slot = 0; slot < this.#length; slot++) {
      if (free.has(slot)) continue;
      const high = this.#high[slot]!;
      const low = this.#low[slot]!;
      const cell = cellOf(cells, shift, high, low);
      cells[cell] = high;
      cells[cell + 1] = low;
      cells[cell + 2] = slot + 1;
    }
  }

  #forgetUnused(held: Iterable<Uint32Array>): void {
    const isUsed = new Uint8Array(this.#length);
    for (const slots of held) {
      for (const slot of slots) isUsed[slot] = 1;
    }
    this.#released = 0;
    this.#free = [];
    for (const [slot, used] of isUsed.entries()) if (used === 0) this.#free.push(slot);
    if (this.#free.length === this.#length) {
      this.#free = [];
      this.#length = 0;
      this.#high = new Uint32Array(firstSlots);
      this.#low = new Uint32Array(firstSlots);
    }
    this.#fillCells();
  }
}

const firstSlots = 16;
const cellLength = 4;

/** Returns the index of the value's cell, or of the empty cell where it belongs. */
function cellOf(cells: Uint32Array, shift: number, high: number, low: number): number {
  let cell = (high >>> shift) * cellLength;
  while (cells[cell + 2] !== 0 && (cells[cell + 1] !== low || cells[cell] !== high)) {
    cell += cellLength;
    if (cell === cells.length) cell = 0;
  }
  return cell;
}

function enlarged(numbers: Uint32Array<ArrayBuffer>, length: number): Uint32Array<ArrayBuffer> {
  const more = new Uint32Array(length);
  more.set(numbers);
  return more;
}
