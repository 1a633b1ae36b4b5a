/**
 * A set of values in insertion order, for work in progress: each call adds a value, and removes it
 * again by the link that `add` returned.
 *
 * A `Map` or `Set` that every call changes replaces its table every few dozen calls, and each old
 * table refers to the next. Once a table is in the old generation, minor collections can't tell
 * that it is dead: all later tables, and every call that one of them held when it was replaced, are
 * copied and retained until a major collection (docs/decisions, 0368). Here nothing that remains
 * refers to a removed value.
 */
export class LinkedSet<T> {
  #size = 0;
  #first: Link<T> | undefined;
  #last: Link<T> | undefined;

  get size(): number {
    return this.#size;
  }

  /** The link of the oldest value; `next` leads to the others. */
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

  /** Removes a value of this set; does nothing if it has been removed already. */
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

  /** Returns a copy, so that values can be removed while iterating. */
  values(): T[] {
    const values: T[] = [];
    for (let link = this.#first; link !== undefined; link = link.next) values.push(link.value);
    return values;
  }
}

/** The entry of a value in its set. */
export class Link<T> {
  next: Link<T> | undefined = undefined;
  /** False once the value has been removed. */
  isIn = true;

  constructor(readonly value: T, public previous: Link<T> | undefined) {}
}
