/** The items in order, in groups whose sizes add up to at most `limit`; a larger one stands alone. */
export function* chunks<T>(
  items: readonly T[],
  sizeOf: (item: T) => number,
  limit: number,
): Generator<T[]> {
  let portion: T[] = [];
  let held = 0;
  for (const item of items) {
    const size = sizeOf(item);
    if (portion.length > 0 && held + size > limit) {
      yield portion;
      portion = [];
      held = 0;
    }
    portion.push(item);
    held += size;
  }
  if (portion.length > 0) yield portion;
}
