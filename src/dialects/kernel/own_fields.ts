import type { DialectName } from "../../../contracts/calls/vendors.ts";
import type { CanonicalEvent, DialectFields } from "./canonical.ts";
import { isRecord, type JsonRecord } from "./json.ts";

/**
 * Collects the members of a vendor's objects that its decoder doesn't read. If a member comes
 * several times, its last value counts, as in a whole answer.
 */
export class OwnMembers {
  readonly #read: readonly string[];
  readonly #members: Record<string, unknown> = Object.create(null);
  #count = 0;
  /** The object of the previous `add`, and its members that aren't read. */
  #last: JsonRecord | undefined;
  #found: { readonly name: string; value: unknown }[] = [];

  constructor(read: readonly string[]) {
    this.#read = read;
  }

  /**
   * Adds an object's members. Runs for every event of a stream; most of the time `SimilarJson`
   * passes the same object with other values.
   */
  add(record: JsonRecord): void {
    if (record !== this.#last) {
      this.#last = record;
      this.#found = Object.keys(record).filter((name) => !this.#read.includes(name))
        .map((name) => ({ name, value: undefined }));
    }
    for (const found of this.#found) {
      const value = record[found.name];
      if (value === found.value) continue;
      found.value = value;
      this.set(found.name, value);
    }
  }

  /** Sets one member. Null changes nothing once there is a value. */
  set(name: string, value: unknown): void {
    if (name in this.#members) {
      if (value === null) return;
    } else if (++this.#count > maxMembers) return;
    this.#members[name] = value;
  }

  get(name: string): unknown {
    return this.#members[name];
  }

  get all(): JsonRecord {
    return { ...this.#members };
  }

  /**
   * Adds the event that reports the members, of a choice or, without `choice`, of the whole answer.
   */
  report(dialect: DialectName, events: CanonicalEvent[], choice?: number): void {
    const fields = this.all;
    if (Object.keys(fields).length === 0) return;
    events.push({ type: "own", choice, own: { dialect, fields } });
  }
}

/** No real answer has more. */
const maxMembers = 200;

/** Such members of a block, for its end; nothing if there are none. */
export function ownFields(dialect: DialectName, fields: JsonRecord): { own?: DialectFields } {
  return Object.keys(fields).length === 0 ? {} : { own: { dialect, fields } };
}

export function ownMembersOf(dialect: DialectName, { own }: { own?: DialectFields }): JsonRecord {
  return own?.dialect === dialect ? own.fields : {};
}

/** Whether a value is an object or a list. */
export function isNested(value: unknown): boolean {
  return isRecord(value) || Array.isArray(value);
}
