import { maxNameUnits } from "../base/json_count.ts";
import { shownName } from "../base/own_text.ts";
import type { Steps } from "../base/steps.ts";
import { invalidValue } from "./fault.ts";

/** How many identifiers of a body may be longer than `maxNameUnits`. */
export const maxLongIdentifiers = 10;

/**
 * Names of the members whose values code looks up in maps, sets and objects. Values of equal length
 * beyond `maxNameUnits` are then compared with one another.
 */
const identifying =
  /(?:^|_)(?:id|name|type)s?$|(?:Id|Name|Type)s?$|^(?:role|format|namespace|include|required)$|^\$(?:id|ref|anchor|dynamicRef|dynamicAnchor)$/;

/**
 * Throws `invalid_value`, naming the field, if more than a few identifiers are long: ids, names,
 * types and the like, also in lists. A few are allowed, since the arguments of a call may have a
 * long text under such a name.
 */
export function* refuseLongIdentifiers(root: unknown): Steps<void> {
  let found = 0;
  let looked = 0;
  const open: Container[] = [];
  enter(open, root, "");
  for (let inside = open.at(-1); inside; inside = open.at(-1)) {
    if (++looked % stepValues === 0) yield;
    if (++inside.at === inside.values.length) {
      open.pop();
      continue;
    }
    const value = inside.values[inside.at];
    const name = inside.names?.[inside.at] ?? inside.name;
    if (typeof value !== "string") enter(open, value, name);
    else if (value.length > maxNameUnits && identifying.test(name)) found++;
    if (found > maxLongIdentifiers) throw tooLong(open);
  }
}

/** An object or a list that is open, and where in it the walk is. */
interface Container {
  /** Undefined for a list. */
  readonly names: readonly string[] | undefined;
  readonly values: readonly unknown[];
  /** Name of the member that is or holds the list. */
  readonly name: string;
  at: number;
}

function enter(open: Container[], value: unknown, name: string): void {
  if (typeof value !== "object" || value === null) return;
  open.push(
    Array.isArray(value)
      ? { names: undefined, values: value, name, at: -1 }
      : { names: Object.keys(value), values: Object.values(value), name, at: -1 },
  );
}

function tooLong(open: readonly Container[]) {
  const path = open.map(({ names, at }, depth) =>
    names === undefined ? `[${at}]` : (depth === 0 ? "" : ".") + shownName(names[at]!)
  ).join("");
  return invalidValue(
    path,
    `expected at most ${maxNameUnits.toLocaleString("en-US")} characters, since ` +
      `${maxLongIdentifiers} other ids, names and types of the body have more`,
  );
}

const stepValues = 10_000;
