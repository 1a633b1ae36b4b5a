import { sha256Hex } from "../../base/hash.ts";

export interface NamespacedName {
  namespace: string;
  name: string;
}

/**
 * One name for each tool of a request, for dialects without namespaces: `<namespace>__<name>`, with
 * a hash appended where another tool has that name. Tools outside of namespaces keep theirs.
 */
export class FlatNames {
  readonly #taken: Set<string>;
  readonly #flat = new Map<string, string>();
  /** Maps each flat name to the tool's namespace and name. */
  readonly namespaces: Record<string, NamespacedName> = Object.create(null);

  /** `plain`: the names of all tools of the request that are outside of namespaces. */
  constructor(plain: Iterable<string>) {
    this.#taken = new Set(plain);
  }

  /** Returns the tool's flat name, the same each time. */
  of(namespace: string | undefined, name: string): string {
    if (namespace === undefined) return name;
    const key = JSON.stringify([namespace, name]);
    const existing = this.#flat.get(key);
    if (existing !== undefined) return existing;
    const flat = this.#free(`${namespace}__${name}`, key);
    this.#taken.add(flat);
    this.#flat.set(key, flat);
    this.namespaces[flat] = { namespace, name };
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
