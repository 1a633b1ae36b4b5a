import type { DialectName } from "../../../contracts/calls/vendors.ts";
import type { CanonicalEvent, OwnFields } from "./canonical.ts";
import { isRecord, type JsonRecord } from "./json.ts";

/**
 * Gathers the members of a vendor's objects that its decoder doesn't read, as the whole answer has
 * them: of one that comes several times the last value.
 */
export class OwnMembers {
  readonly #read: ReadonlySet<string>;
  readonly #members: Record<string, unknown> = Object.create(null);
  #count = 0;

  constructor(read: readonly string[]) {
    this.#read = new Set(read);
  }

  /** Runs for every event of a stream. */
  add(record: JsonRecord): void {
    for (const name in record) {
      if (!this.#read.has(name)) this.set(name, record[name]);
    }
  }

  /** Null means "as before". */
  set(name: string, value: unknown): void {
    const isNew = !(name in this.#members);
    if (isNew ? this.#count === maxMembers : value === null) return;
    if (isNew) this.#count++;
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
