import { skipSpace, skipString } from "./json_text.ts";
import { shownName } from "./own_text.ts";
import type { Steps } from "./steps.ts";

/** Counts the values of parsed JSON, containers included, as `JsonCount` counts those of its text. */
export function countValues(value: unknown): number {
  let values = 1;
  if (Array.isArray(value)) {
    for (const item of value) values += isContainer(item) ? countValues(item) : 1;
  } else if (isContainer(value)) {
    for (const name in value) {
      const member = (value as Record<string, unknown>)[name];
      values += isContainer(member) ? countValues(member) : 1;
    }
  }
  return values;
}

/** `countValues` in steps. */
export function* countValuesInSteps(root: unknown): Steps<number> {
  let values = 1;
  let looked = 0;
  const open = [itemsOf(root)];
  for (let inside = open.at(-1); inside; inside = open.at(-1)) {
    const next = inside.next();
    if (next.done) open.pop();
    else values++;
    if (isContainer(next.value)) open.push(itemsOf(next.value));
    if (values - looked < stepValues) continue;
    looked = values;
    yield;
  }
  return values;
}

function itemsOf(value: unknown): Iterator<unknown, undefined> {
  if (!isContainer(value)) return [].values();
  return (Array.isArray(value) ? value : Object.values(value)).values();
}

/**
 * Finds the first member of a valid JSON text whose object has its name twice; returns its path,
 * such as `messages[0].role`.
 */
export function* findDuplicateName(text: string): Steps<string | undefined> {
  const open: Container[] = [];
  let looked = 0;
  for (let at = skipSpace(text, 0); at < text.length; at = skipSpace(text, at)) {
    const inside = open.at(-1);
    const character = text[at];
    if (character === '"') {
      const end = skipString(text, at);
      if (inside?.names && text[skipSpace(text, end)] === ":") {
        inside.key = JSON.parse(text.slice(at, end)) as string;
        if (inside.names.has(inside.key)) return pathOf(open);
        inside.names.add(inside.key);
      }
      at = end;
    } else {
      if (character === "{") open.push({ names: new Set(), key: "" });
      else if (character === "[") open.push({ names: undefined, key: 0 });
      else if (character === "}" || character === "]") open.pop();
      else if (character === "," && typeof inside?.key === "number") inside.key++;
      at++;
    }
    if (at - looked < stepUnits) continue;
    looked = at;
    yield;
  }
  return undefined;
}

/** An object or a list that is open, and where in it the scan is. */
interface Container {
  readonly names: Set<string> | undefined;
  key: string | number;
}

function pathOf(open: readonly Container[]): string {
  return open.map(({ key }, depth) => {
    if (typeof key === "number") return `[${key}]`;
    return (depth === 0 ? "" : ".") + shownName(key);
  }).join("");
}

function isContainer(value: unknown): value is object {
  return typeof value === "object" && value !== null;
}

const stepValues = 10_000;
const stepUnits = 256 * 1024;
