/** The items in order, in groups of at most `limit` total size; a larger item is alone in its group. */
export function* chunks<T>(
  items: readonly T[],
  sizeOf: (item: T) => number,
  limit: number,
): Generator<T[]> {
  let chunk: T[] = [];
  let held = 0;
  for (const item of items) {
    const size = sizeOf(item);
    if (chunk.length > 0 && held + size > limit) {
      yield chunk;
      chunk = [];
      held = 0;
    }
    chunk.push(item);
    held += size;
  }
  if (chunk.length > 0) yield chunk;
}
