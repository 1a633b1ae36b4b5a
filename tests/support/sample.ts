/**
 * A stable part of a table: the gate tries it, the long form of the test all rows. Which rows are
 * in it depends on `salt` and nothing else that changes from run to run; tests that try one table
 * in many places give each place as salt, so that between them all rows are tried.
 */
export function sample<T>(
  rows: readonly T[],
  options: { oneOf: number; salt: string; all?: boolean },
): T[] {
  if (options.all) return [...rows];
  const first = hash(options.salt) % options.oneOf;
  return rows.filter((_, at) => at % options.oneOf === first);
}

/** FNV-1a, by Fowler, Noll and Vo (public domain). */
function hash(text: string): number {
  let state = 0x811c9dc5;
  for (let at = 0; at < text.length; at++) {
    state = Math.imul(state ^ text.charCodeAt(at), 0x01000193);
  }
  // Low bits alone say little about what came early in the text.
  return (state ^ (state >>> 15)) >>> 0;
}
