/**
 * Appends all of `more`. A call takes some hundred thousand arguments at most, so lists of unbounded
 * length are never spread into one; a test checks that.
 */
export function pushAll<T>(list: T[], more: Iterable<T>): void {
  for (const one of more) list.push(one);
}

/** The smallest of the numbers; Infinity if there are none. */
export function least(numbers: Iterable<number>): number {
  let found = Infinity;
  for (const one of numbers) found = Math.min(found, one);
  return found;
}

/** The greatest of the numbers and `start`. */
export function greatest(numbers: Iterable<number>, start = -Infinity): number {
  let found = start;
  for (const one of numbers) found = Math.max(found, one);
  return found;
}

/** Splits a list into chunks of `length` elements, in order; the last one may be shorter. */
export function chunksOf<T>(all: readonly T[], length: number): T[][] {
  return Array.from(
    { length: Math.ceil(all.length / length) },
    (_, nth) => all.slice(nth * length, (nth + 1) * length),
  );
}

/** Makes a record with a value for each name. */
export function valuesByName<Name extends string, Value>(
  names: readonly Name[],
  valueOf: (name: Name) => Value,
): Record<Name, Value> {
  return Object.fromEntries(names.map((name) => [name, valueOf(name)])) as Record<Name, Value>;
}
