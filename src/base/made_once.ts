/**
 * Returns a function that makes the value on its first call, so that the program's start doesn't
 * wait for something it doesn't use.
 */
export function madeOnce<T>(make: () => T): () => T {
  let made: { value: T } | undefined;
  return () => (made ??= { value: make() }).value;
}
