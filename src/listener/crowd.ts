/** Anything that waits: without a whole request so far, or between requests. */
export interface Waiter {
  readonly isServed: boolean;
}

/** Connections of all peers or of one, those without a request under way in order of their age. */
export class Crowd<T extends Waiter> {
  size = 0;
  readonly #silent = new Set<T>();
  readonly #idle = new Set<T>();

  /** It has no request under way from now on. */
  wait(one: T): void {
    (one.isServed ? this.#idle : this.#silent).add(one);
  }

  /** It has one, or is gone. */
  leave(one: T): void {
    if (!this.#silent.delete(one)) this.#idle.delete(one);
  }

  /** The one that has been silent longest. */
  get oldestSilent(): T | undefined {
    return this.#silent.values().next().value;
  }

  /** The one that is missed least: silent longest, else idle longest. */
  get oldest(): T | undefined {
    return this.oldestSilent ?? this.#idle.values().next().value;
  }
}
