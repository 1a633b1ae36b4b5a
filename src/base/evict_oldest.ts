/**
 * Removes the oldest hundredth of a map that holds more than `maxSize` entries. Removing them one at a
 * time would cost more the larger the map is: to find its first entry, a map skips the places of all
 * entries that were removed since its table was last rebuilt.
 */
export function evictOldest<Key, Value>(
  map: Map<Key, Value>,
  maxSize: number,
  evicted: (value: Value) => void = () => {},
): void {
  if (map.size <= maxSize) return;
  let left = Math.ceil(maxSize / 100);
  for (const [key, value] of map) {
    map.delete(key);
    evicted(value);
    if (--left === 0) return;
  }
}
