import { asString, isRecord, type JsonRecord } from "../../../kernel/json.ts";

interface KnownCall {
  id: string | undefined;
  name: string | undefined;
}

/** Tells which tool call of a choice a fragment belongs to. */
export class CallIndexes {
  readonly #calls: ReadonlyMap<number, KnownCall>;
  /** Where the fragments of an index go, if not to the call that had it first. */
  readonly #movedTo = new Map<number, number>();
  /** Calls of a kind that nobody here knows, which the caller can't have offered. */
  readonly #unsupported = new Set<number>();
  /** The first call of each id. */
  readonly #byId = new Map<string, number>();
  #highest = -1;
  #last = -1;

  /** `calls` holds the calls so far by what `of` gave for them. */
  constructor(calls: ReadonlyMap<number, KnownCall>) {
    this.#calls = calls;
  }

  /**
   * The call's index; undefined for one of an unknown kind. `position` is the fragment's among
   * several, `name` the tool that it names.
   */
  of(call: JsonRecord, position: number | undefined, name: string | undefined): number | undefined {
    const index = this.#indexOf(call, position, name);
    this.#highest = Math.max(this.#highest, index);
    // A call keeps the first id that is said of it.
    const id = this.#calls.get(index)?.id ?? asString(call.id);
    if (id !== undefined && this.#withId(id) === undefined) this.#byId.set(id, index);
    if (isUnsupported(call)) this.#unsupported.add(index);
    if (this.#unsupported.has(index)) return undefined;
    this.#last = index;
    return index;
  }

  /** Its index, else a change of id, else its position, else the call before. */
  #indexOf(call: JsonRecord, position: number | undefined, name: string | undefined): number {
    const id = asString(call.id);
    if (typeof call.index === "number") return this.#resolve(call.index, id, name);
    if (id !== undefined) return this.#withId(id) ?? this.#unused();
    const index = position ?? Math.max(0, this.#last);
    // Without index and id, a second name is a second call.
    const isNamed = this.#calls.get(index)?.name !== undefined;
    return name !== undefined && isNamed ? this.#unused() : index;
  }

  /** Some servers give one index to all their calls: a new id with a name is a new call then. */
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
    const index = this.#byId.get(id);
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
