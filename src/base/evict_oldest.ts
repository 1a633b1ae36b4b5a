/**
 * Takes out of a map that holds more than `most` what was added first, a hundredth of it at once.
 * To find its first entry a map goes over the places of all that were taken out since its table was
 * last replaced: one at a time, each would cost more the larger the map is.
 */
export function evictOldest<Key, Value>(
  map: Map<Key, Value>,
  most: number,
  evicted: (value: Value) => void = () => {},
): void {
  if (map.size <= most) return;
  let left = Math.ceil(most / 100);
  for (const [key, value] of map) {
    map.delete(key);
    evicted(value);
    if (--left === 0) return;
  }
}
