/**
 * Returns a stable part of a table for the gate; the long form of a test runs all rows. `salt`
 * decides which rows are in it, so they are the same in every run. Tests that use a table in many
 * places pass the place as salt, so that together they run all rows.
 */
export function sample<T>(
  rows: readonly T[],
  options: { oneOf: number; salt: string; all?: boolean },
): T[] {
  if (options.all) return [...rows];
  const first = hash(options.salt) % options.oneOf;
  return rows.filter((_, at) => at % options.oneOf === first);
}

/**
 * Returns one row for the gate. A test that tries each of several things with one row passes the
 * sum of the places of what it tries: so each of them meets all rows before it meets one again.
 */
export function inTurn<T>(rows: readonly T[], turn: number, all: boolean): readonly T[] {
  return all ? rows : [rows[turn % rows.length]!];
}

/** FNV-1a, by Fowler, Noll and Vo (public domain). */
function hash(text: string): number {
  let state = 0x811c9dc5;
  for (let at = 0; at < text.length; at++) {
    state = Math.imul(state ^ text.charCodeAt(at), 0x01000193);
  }
  // The low bits depend little on the beginning of the text, so the high bits are mixed in.
  return (state ^ (state >>> 15)) >>> 0;
}
