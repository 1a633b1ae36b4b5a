import type { DialectName } from "../../../contracts/calls/vendors.ts";
import type { CanonicalEvent, OwnFields } from "./canonical.ts";
import { isRecord, type JsonRecord } from "./json.ts";

/**
 * Gathers the members of a vendor's objects that its decoder doesn't read. A member that comes
 * several times has its last value, as in a whole answer.
 */
export class OwnMembers {
  readonly #read: readonly string[];
  readonly #members: Record<string, unknown> = Object.create(null);
  #count = 0;
  /** The object of the call before, and the members of it that aren't read. */
  #last: JsonRecord | undefined;
  #found: { readonly name: string; value: unknown }[] = [];

  constructor(read: readonly string[]) {
    this.#read = read;
  }

  /** Runs for every event of a stream, most of which are one object with other values (`SimilarJson`). */
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

  /** Null changes nothing once there is a value. */
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

  /** The event that reports them; without a choice they are those of the whole answer. */
  report(dialect: DialectName, events: CanonicalEvent[], choice?: number): void {
    const fields = this.all;
    if (Object.keys(fields).length === 0) return;
    events.push({ type: "own", choice, own: { dialect, fields } });
  }
}

/** No real answer has more. */
const maxMembers = 200;

export function ownMembersOf(dialect: DialectName, { own }: { own?: OwnFields }): JsonRecord {
  return own?.dialect === dialect ? own.fields : {};
}

/** Whether a value is an object or a list. */
export function isNested(value: unknown): boolean {
  return isRecord(value) || Array.isArray(value);
}
