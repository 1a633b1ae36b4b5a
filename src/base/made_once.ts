/** What is made when it is first asked for: a start has no use for it, and does not wait for it. */
export function madeOnce<T>(make: () => T): () => T {
  let made: { value: T } | undefined;
  return () => (made ??= { value: make() }).value;
}
