import { withoutEnd } from "../../../../base/trim.ts";
import { isRecord, type JsonRecord } from "../../../kernel/json.ts";

/**
 * No model uses a larger index, or skips more elements in all lists together; such numbers would
 * only fill memory.
 */
const maxIndex = 10_000;
const maxHoles = 10_000;
const maxDepth = 100;

type Container = Record<string, unknown> | unknown[];

/**
 * Assembles the arguments of one streamed function call from its `partialArgs` entries. Each names
 * a path such as `$.a.b[0]` and its value; a string with `willContinue` continues in the next entry
 * of the same path.
 */
export class PartialArgs {
  readonly #args: Record<string, unknown>;
  #holes = 0;
  /** Path of the string that continues in the next entry. */
  #open: string | undefined;

  /** `start`: arguments in the call's first part. */
  constructor(start: JsonRecord) {
    this.#args = bare(start);
  }

  add(entries: unknown): void {
    if (!Array.isArray(entries)) return;
    for (const entry of entries) if (isRecord(entry)) this.#entry(entry);
  }

  /** JSON text of the arguments. */
  whole(): string {
    return JSON.stringify(this.#args);
  }

  /** The JSON text received so far, without closing what the model left open. */
  unfinished(): string {
    const text = withoutEnd(this.whole(), "}]");
    return this.#open === undefined ? text : text.replace(/"$/, "");
  }

  #entry(entry: JsonRecord): void {
    const path = typeof entry.jsonPath === "string" ? entry.jsonPath : "";
    const steps = pathSteps(path);
    if (steps === undefined || steps.length === 0) return;
    const reached = this.#reach(steps);
    if (!reached) return;
    const { container, last } = reached;
    const before = valueAt(container, last);
    const isText = typeof entry.stringValue === "string" || !("numberValue" in entry ||
      "boolValue" in entry || "nullValue" in entry);
    const piece = typeof entry.stringValue === "string" ? entry.stringValue : "";
    const isContinued = this.#open === path && typeof before === "string";
    put(container, last, isText ? (isContinued ? before + piece : piece) : plainValue(entry));
    this.#open = isText && entry.willContinue === true ? path : undefined;
  }

  /**
   * Returns the container of the last step; missing containers are created. Undefined if the path
   * skips too many elements.
   */
  #reach(
    steps: readonly (string | number)[],
  ): { container: Container; last: string | number } | undefined {
    let container: Container = this.#args;
    for (let at = 0; at < steps.length; at++) {
      if (!this.#fits(container, steps[at]!)) return undefined;
      if (at === steps.length - 1) break;
      let next: unknown = valueAt(container, steps[at]!);
      if (!isContainer(next)) {
        next = typeof steps[at + 1] === "number" ? [] : bare({});
        put(container, steps[at]!, next);
      }
      container = next as Container;
    }
    return { container, last: steps.at(-1)! };
  }

  #fits(container: Container, step: string | number): boolean {
    if (!Array.isArray(container)) return true;
    this.#holes += Math.max(0, Number(step) - container.length) || 0;
    return this.#holes <= maxHoles;
  }
}

/** `$.a['b c'][0]` as `["a", "b c", 0]`; undefined if it isn't such a path. */
function pathSteps(path: string): (string | number)[] | undefined {
  const steps: (string | number)[] = [];
  let rest = path.replace(/^\$/, "");
  while (rest !== "") {
    const match = step.exec(rest);
    if (!match || steps.length >= maxDepth) return undefined;
    const [whole, name, index, quoted] = match;
    if (index !== undefined && Number(index) > maxIndex) return undefined;
    steps.push(
      index !== undefined ? Number(index) : name ?? quoted!.slice(1, -1).replace(/\\(.)/g, "$1"),
    );
    rest = rest.slice(whole.length);
  }
  return steps;
}

const step = /^(?:\.([^.[\]]+)|\[(\d+)\]|\[('(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")\])/;

function plainValue(entry: JsonRecord): unknown {
  if ("numberValue" in entry) return entry.numberValue;
  return "boolValue" in entry ? entry.boolValue : null;
}

function valueAt(container: Container, step: string | number): unknown {
  return Array.isArray(container) ? container[Number(step)] : container[step];
}

function put(container: Container, step: string | number, value: unknown): void {
  if (!Array.isArray(container)) container[step] = value;
  else if (typeof step === "number") container[step] = value;
}

/** A frozen object is a long integer (`withExactIntegers`). */
function isContainer(value: unknown): value is Container {
  return typeof value === "object" && value !== null && !Object.isFrozen(value);
}

/** A record without a prototype: an argument may be named `__proto__`. */
function bare(record: JsonRecord): Record<string, unknown> {
  return Object.assign(Object.create(null), record);
}
