import { shortKey } from "../../../../base/hash.ts";
import { asString, isRecord, type JsonRecord } from "../../../kernel/json.ts";

interface KnownCall {
  id: string | undefined;
  name: string | undefined;
}

export class CallIndexes {
  readonly #calls: ReadonlyMap<number, KnownCall>;
  /** Index on the wire → the call that its fragments belong to now. */
  readonly #movedTo = new Map<number, number>();
  /** Calls of an unknown kind, which the caller can't have offered as tools. */
  readonly #unsupported = new Set<number>();
  readonly #byId = new Map<string, number>();
  #highest = -1;
  #last = -1;

  /** `calls`: the calls so far, by the index that `of` returned for them. */
  constructor(calls: ReadonlyMap<number, KnownCall>) {
    this.#calls = calls;
  }

  /**
   * Returns the index of the call that a fragment belongs to; undefined for a call of an unknown
   * kind. `position` is the fragment's position among several, `name` the tool that it names.
   */
  of(call: JsonRecord, position: number | undefined, name: string | undefined): number | undefined {
    const index = this.#indexOf(call, position, name);
    this.#highest = Math.max(this.#highest, index);
    // The first id of a call stays.
    const id = this.#calls.get(index)?.id ?? asString(call.id);
    if (id !== undefined && this.#withId(id) === undefined) this.#byId.set(shortKey(id), index);
    if (isUnsupported(call)) this.#unsupported.add(index);
    if (this.#unsupported.has(index)) return undefined;
    this.#last = index;
    return index;
  }

  /** Decides by the index, else by a new id, else by the position; else it is the last call. */
  #indexOf(call: JsonRecord, position: number | undefined, name: string | undefined): number {
    const id = asString(call.id);
    if (typeof call.index === "number") return this.#resolve(call.index, id, name);
    if (id !== undefined) return this.#withId(id) ?? this.#unused();
    const index = position ?? Math.max(0, this.#last);
    // Without index and id, a second name is a second call.
    const isNamed = this.#calls.get(index)?.name !== undefined;
    return name !== undefined && isNamed ? this.#unused() : index;
  }

  /** Some servers give all calls the same index: there a new id with a name starts a new call. */
  #resolve(reported: number, id: string | undefined, name: string | undefined): number {
    const index = this.#movedTo.get(reported) ?? reported;
    const currentId = this.#calls.get(index)?.id;
    if (id === undefined || currentId === undefined || id === currentId || name === undefined) {
      return index;
    }
    const other = this.#withId(id) ?? this.#unused();
    this.#movedTo.set(reported, other);
    return other;
  }

  #withId(id: string): number | undefined {
    const index = this.#byId.get(shortKey(id));
    return index !== undefined && this.#calls.get(index)?.id === id ? index : undefined;
  }

  #unused(): number {
    return this.#highest + 1;
  }
}

function isUnsupported(call: JsonRecord): boolean {
  const type = asString(call.type);
  const isKnown = type === undefined || type === "function" || type === "custom";
  return !isKnown && !isRecord(call.function) && !isRecord(call.custom);
}
