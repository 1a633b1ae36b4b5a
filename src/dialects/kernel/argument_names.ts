import { JsonCount } from "../../base/json_count.ts";

/** Most member names in the arguments of an answer's calls; those of one call count once. */
export const maxArgumentNames = 100_000;

/** Arguments with fewer UTF-16 units in all can't have so many. */
const uncountedUnits = 4 * maxArgumentNames;

/**
 * Counts the member names in the arguments of an answer's calls: where arguments are parsed, each
 * new name costs the engine microseconds.
 */
export class ArgumentNames {
  #units = 0;
  #left = maxArgumentNames;

  /** Whether these arguments may be parsed, too: false once there are too many names. */
  add(text: string): boolean {
    this.#units += text.length;
    if (this.#units <= uncountedUnits) return true;
    const limits = { values: Infinity, depth: Infinity, members: Infinity, names: Infinity };
    const count = new JsonCount(limits);
    count.add(text);
    this.#left -= count.names;
    return this.#left >= 0;
  }
}
