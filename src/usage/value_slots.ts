/**
 * Numbers for the values of a label, which go by eight bytes each, so that sums of many steps are
 * added up in arrays: a map of names takes ten times as long for half a million of them. A number that
 * no held step has any more goes to another value once nobody is reading.
 */
export class ValueSlots {
  /** Both halves of a value's bytes, by its number. */
  #high = new Uint32Array(firstSlots);
  #low = new Uint32Array(firstSlots);
  /** Of the numbers that were ever given. */
  #length = 0;
  #free: number[] = [];
  /**
   * Four numbers a cell: both halves and the number plus one, or 0. Values are where their first bits
   * say, or behind: those of a step, which come in their order, are met from the first cell to the
   * last, which is kind to the processor's cache.
   */
  #cells = new Uint32Array(2 * firstSlots * cellLength);
  /** Bits of a value's first half that its cell doesn't depend on. */
  #shift = 32 - Math.log2(2 * firstSlots);
  /** Steps that are held. */
  #held = 0;
  /** Values of steps that are held no more. */
  #released = 0;
  #readers = 0;

  /** How many numbers there are: each is below. */
  get length(): number {
    return this.#length;
  }

  get bytes(): number {
    return 2 * this.#high.byteLength + this.#cells.byteLength + 8 * this.#free.length;
  }

  /** Whether no step has any of them, and nobody reads. */
  get isIdle(): boolean {
    return this.#held === 0 && this.#readers === 0;
  }

  /** Numbers stay whose they are until `read` has ended. `held` gives those of all held steps. */
  async reading<T>(held: () => Iterable<Uint32Array>, read: () => Promise<T>): Promise<T> {
    this.#readers++;
    try {
      return await read();
    } finally {
      if (--this.#readers === 0 && this.#released > this.#length) this.#forgetUnused(held());
    }
  }

  /** `ids`: both halves of each value. One loop with everything at hand: half of the time of a look. */
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

  /** A step is held. */
  hold(): void {
    this.#held++;
  }

  /** A step with so many values is held no more. */
  release(values: number): void {
    this.#held--;
    this.#released += values;
  }

  /** An order that depends on nothing but the values. */
  compare(one: number, other: number): number {
    return this.#high[one]! - this.#high[other]! || this.#low[one]! - this.#low[other]!;
  }

  /** Makes room for so many more values: half of the cells stay empty, so that few others are met. */
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

/** Where the value is or is to be. */
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
