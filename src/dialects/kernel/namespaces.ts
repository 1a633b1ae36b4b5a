import { sha256Hex, shortKey } from "../../base/hash.ts";

export interface NamespacedName {
  namespace: string;
  name: string;
}

/** A tool that the caller runs and that has no name, only a type, such as `tool_search`. */
export interface TypedTool {
  toolType: string;
}

/** What the caller calls a tool. */
export type CallerToolName = NamespacedName | TypedTool;

/**
 * One name for each tool of a request, for dialects without namespaces: `<namespace>__<name>`, with
 * a hash appended where another tool has that name. Tools outside of namespaces keep theirs.
 */
export class FlatNames {
  readonly #taken: Set<string>;
  readonly #flat = new Map<string, string>();
  /** Maps each flat name to what the caller calls the tool. */
  readonly namespaces: Record<string, CallerToolName> = Object.create(null);

  /** `plain`: the names of all tools of the request that are outside of namespaces. */
  constructor(plain: Iterable<string>) {
    this.#taken = new Set(plain);
  }

  /** Returns the tool's flat name, the same each time. */
  of(namespace: string | undefined, name: string): string {
    if (namespace === undefined) return name;
    return this.#assign(`${namespace}__${name}`, { namespace, name });
  }

  /** Returns the name of the caller's tool of this type, the same each time. */
  ofType(toolType: string): string {
    return this.#assign(toolType, { toolType });
  }

  #assign(wanted: string, own: CallerToolName): string {
    const key = shortKey("namespace" in own ? JSON.stringify([own.namespace, own.name]) : wanted);
    const existing = this.#flat.get(key);
    if (existing !== undefined) return existing;
    const flat = this.#free(shortKey(wanted), key);
    this.#taken.add(flat);
    this.#flat.set(key, flat);
    this.namespaces[flat] = own;
    return flat;
  }

  #free(wanted: string, key: string): string {
    if (!this.#taken.has(wanted)) return wanted;
    const hash = sha256Hex(key);
    // A caller may name tools after hashes, but not after all of them.
    for (let length = 8; length < hash.length; length++) {
      const flat = `${wanted}_${hash.slice(0, length)}`;
      if (!this.#taken.has(flat)) return flat;
    }
    return `${wanted}_${hash}`;
  }
}
