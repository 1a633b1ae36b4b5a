/**
 * Values in the order in which they were added, for what is under way: each call adds one, and takes
 * it out again by the link that it got.
 *
 * A `Map` or `Set` that every call changes replaces its table every few dozen calls, and each table
 * leads to the one that followed it. Once such a table is old, the young generation can't tell that
 * it is dead, so all later ones, and every call that one of them held when it was replaced, are
 * copied and kept until a major collection (docs/decisions.md, 0368). Here a value that is taken out
 * is reached from nothing that stays.
 */
export class LinkedSet<T> {
  #size = 0;
  #first: Link<T> | undefined;
  #last: Link<T> | undefined;

  get size(): number {
    return this.#size;
  }

  /** The one that was added first of those that are left; the others follow as `next`. */
  get first(): Link<T> | undefined {
    return this.#first;
  }

  add(value: T): Link<T> {
    const link = new Link(value, this.#last);
    if (this.#last === undefined) this.#first = link;
    else this.#last.next = link;
    this.#last = link;
    this.#size++;
    return link;
  }

  /** Takes a value of this set out; does nothing if that was done already. */
  delete(link: Link<T>): void {
    if (!link.isIn) return;
    const { previous, next } = link;
    if (previous === undefined) this.#first = next;
    else previous.next = next;
    if (next === undefined) this.#last = previous;
    else next.previous = previous;
    link.previous = link.next = undefined;
    link.isIn = false;
    this.#size--;
  }

  /** A copy, to take some out while going through them. */
  values(): T[] {
    const values: T[] = [];
    for (let link = this.#first; link !== undefined; link = link.next) values.push(link.value);
    return values;
  }
}

/** The place of a value in its set. */
export class Link<T> {
  next: Link<T> | undefined = undefined;
  /** False once the value was taken out. */
  isIn = true;

  constructor(readonly value: T, public previous: Link<T> | undefined) {}
}
