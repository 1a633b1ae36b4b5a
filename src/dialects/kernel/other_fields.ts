import type { Steps } from "../../base/steps.ts";
import type { LossWeight, UnsupportedField } from "./canonical_request.ts";
import { invalidValue } from "../../shared/fault.ts";
import { isRedundant } from "./borrowed_fields.ts";
import { formatPath, memberPath } from "./fields.ts";
import { isRecord, type JsonRecord } from "./json.ts";

/**
 * The fields of a value in a caller's request that a decoder reads. `true`: all of them, or they
 * are checked elsewhere. An object: the fields that it names, where `*` stands for any other field;
 * for a list it applies to each element. A function chooses by the object's type; it returns
 * undefined for an object that is refused, or reported as a whole.
 */
export type KnownFieldSet =
  | true
  | { readonly [field: string]: KnownFieldSet }
  | ((record: JsonRecord) => KnownFieldSet | undefined);

/** Returns `true`, since all of them is read, for each of these fields, separated by spaces. */
export function all(names: string): Readonly<Record<string, true>> {
  return Object.fromEntries(names.split(" ").map((name) => [name, true]));
}

/**
 * Returns the fields in these members of a request, at any depth, that the decoder doesn't read.
 * They can't be carried to another dialect; since their effect is unknown, they are hints. Empty
 * values are no loss.
 *
 * `spell` converts a caller's spelling of a field to the table's.
 */
export function* otherFields(
  request: JsonRecord,
  knownFields: Readonly<Record<string, KnownFieldSet>>,
  spell: (field: string) => string = (field) => field,
): Steps<UnsupportedField[]> {
  const found: UnsupportedField[] = [];
  // Hundreds of thousands of values are visited and few reported: a path is made only for those.
  const trail: (string | number)[] = [];
  const enter = (step: string | number, value: unknown, of: KnownFieldSet): void => {
    trail.push(step);
    collect(value, of);
    trail.pop();
  };
  const collect = (value: unknown, of: KnownFieldSet): void => {
    if (of === true) return;
    if (Array.isArray(value)) {
      for (let index = 0; index < value.length; index++) enter(index, value[index], of);
      return;
    }
    if (!isRecord(value)) return;
    const fields = typeof of === "function" ? of(value) : of;
    if (fields === undefined || fields === true) return;
    if (typeof fields === "function") return collect(value, fields);
    for (const [name, held] of Object.entries(value)) {
      const inside = knownIn(fields, spell(name));
      if (inside === true) continue;
      if (inside) enter(name, held, inside);
      else if (!isEmptyValue(held)) {
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
    if (!Array.isArray(value)) collect(value, of);
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

/**
 * Returns the fields of a request itself, or of the record at `within`, that the decoder doesn't
 * read. A switch that is off is a hint, since it may be on by default, as `enable_thinking` is.
 * `changesNothing`: whether a value asks only for what the vendor does anyway.
 * `others`: fields of other dialects, and where this one has them (`borrowed_fields.ts`). One that
 * changes nothing is no loss.
 */
export function unknownFields(
  record: JsonRecord,
  knownFields: Readonly<Record<string, unknown>>,
  { weightOf, others = {}, changesNothing, spell = (field) => field, within = "" }: {
    weightOf: (name: string) => LossWeight;
    others?: Readonly<Record<string, string>>;
    changesNothing?: (name: string, value: unknown) => boolean;
    spell?: (field: string) => string;
    within?: string;
  },
): UnsupportedField[] {
  return Object.entries(record).flatMap(([field, value]): UnsupportedField[] => {
    const name = spell(field);
    const isKnown = Object.hasOwn(knownFields, name);
    const isOff = value === false;
    if (isKnown || (isEmptyValue(value) && !isOff) || changesNothing?.(name, value)) return [];
    const path = memberPath(field, within);
    const instead = Object.hasOwn(others, name) && !isOff ? others[name] : undefined;
    if (instead === undefined) return [{ path, value, weight: isOff ? "hint" : weightOf(name) }];
    const isNeeded = !isRedundant(name, value, record[instead]);
    return isNeeded ? [{ path, value, weight: "meaning", instead }] : [];
  });
}

export function fieldsOf(
  table: Readonly<Record<string, KnownFieldSet>>,
  type: unknown,
): KnownFieldSet | undefined {
  const name = String(type);
  return Object.hasOwn(table, name) ? table[name] : undefined;
}

/** A request with more of them is refused, because the answer and the record name each one. */
const maxFound = 10_000;

function knownIn(
  fields: Readonly<Record<string, KnownFieldSet>>,
  name: string,
): KnownFieldSet | undefined {
  return Object.hasOwn(fields, name) ? fields[name] : fields["*"];
}

export function isEmptyValue(value: unknown): boolean {
  return value === null || value === undefined || value === false || value === "" ||
    (Array.isArray(value) && value.length === 0);
}
