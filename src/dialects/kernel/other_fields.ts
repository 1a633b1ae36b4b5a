import type { Steps } from "../../base/steps.ts";
import type { UnsupportedField } from "./canonical_request.ts";
import { formatPath, invalidValue } from "./fields.ts";
import { isRecord, type JsonRecord } from "./json.ts";

/**
 * What a decoder knows of a value within a caller's request. `true`: all of it, or it is looked
 * at elsewhere. An object: its fields, where `*` stands for all others; of a list, each element's.
 * A function chooses by the object's kind; undefined is one that is refused or named whole.
 */
export type KnownFieldSet =
  | true
  | { readonly [field: string]: KnownFieldSet }
  | ((record: JsonRecord) => KnownFieldSet | undefined);

/**
 * Fields within these members of a request that the dialect's decoder doesn't know, however deep
 * they stand. They can't be carried to another dialect; since nobody can say what leaving them out
 * does, they are hints. Values that say nothing are no loss.
 *
 * `spell` turns a caller's spelling of a field into the table's, for a wire that takes several.
 */
export function* otherFields(
  request: JsonRecord,
  knownFields: Readonly<Record<string, KnownFieldSet>>,
  spell: (field: string) => string = (field) => field,
): Steps<UnsupportedField[]> {
  const found: UnsupportedField[] = [];
  // Hundreds of thousands of values may be looked at, and few of them named.
  const trail: (string | number)[] = [];
  const enter = (step: string | number, value: unknown, of: KnownFieldSet): void => {
    trail.push(step);
    look(value, of);
    trail.pop();
  };
  const look = (value: unknown, of: KnownFieldSet): void => {
    if (of === true) return;
    if (Array.isArray(value)) {
      for (let index = 0; index < value.length; index++) enter(index, value[index], of);
      return;
    }
    if (!isRecord(value)) return;
    const fields = typeof of === "function" ? of(value) : of;
    if (fields === undefined || fields === true) return;
    if (typeof fields === "function") return look(value, fields);
    for (const [name, held] of Object.entries(value)) {
      const inside = knownIn(fields, spell(name));
      if (inside === true) continue;
      if (inside) enter(name, held, inside);
      else if (!saysNothing(held)) {
        const path = `${formatPath(trail)}.${name}`;
        if (found.length === maxFound) {
          throw invalidValue(
            path,
            `the request has more than ${maxFound} fields that can't be carried`,
          );
        }
        found.push({ path, value: held, weight: "hint" });
      }
    }
  };
  for (const [name, value] of Object.entries(request)) {
    const of = knownIn(knownFields, spell(name)) ?? true;
    if (of === true) continue;
    trail.push(name);
    if (!Array.isArray(value)) look(value, of);
    else {
      for (let index = 0; index < value.length; index++) {
        enter(index, value[index], of);
        yield;
      }
    }
    trail.pop();
  }
  return found;
}

/** The fields of an object of this type, out of a table by type. */
export function fieldsOf(
  table: Readonly<Record<string, KnownFieldSet>>,
  type: unknown,
): KnownFieldSet | undefined {
  const name = String(type);
  return Object.hasOwn(table, name) ? table[name] : undefined;
}

/** A request with more of them is refused: each is named in the answer and in the record. */
const maxFound = 10_000;

function knownIn(
  fields: Readonly<Record<string, KnownFieldSet>>,
  name: string,
): KnownFieldSet | undefined {
  return Object.hasOwn(fields, name) ? fields[name] : fields["*"];
}

export function saysNothing(value: unknown): boolean {
  return value === null || value === undefined || value === false || value === "" ||
    (Array.isArray(value) && value.length === 0);
}
