import { sha256Hex } from "../../base/hash.ts";
import type { Steps } from "../../base/steps.ts";
import type { CanonicalRequest } from "./canonical_request.ts";

/**
 * Tool names that chat, responses and messages servers accept; some models refuse any longer name.
 */
export const plainToolName = /^[A-Za-z0-9_-]{1,64}$/;

export function* toolNamesOf(request: CanonicalRequest): Steps<string[]> {
  const names = new Set(request.tools.map(({ name }) => name));
  for (const { parts } of request.turns) {
    for (const part of parts) if (part.type === "tool-call") names.add(part.name);
    yield;
  }
  return [...names];
}

/**
 * Aliases for tool names that a target refuses: other characters become `_`, the name is cut to 64,
 * and a hash is appended if two names would collide. Accepted names stay. `toolNames` maps the
 * alias of each changed name to the caller's name.
 */
export function aliasToolNames(
  names: readonly string[],
  accepts: RegExp,
  /** The name of one of the target's own tools. */
  reserved?: string,
): { aliasOf: (name: string) => string; toolNames: Readonly<Record<string, string>> } {
  const aliases = new Map<string, string>();
  const fits = (name: string) => accepts.test(name) && name !== reserved;
  const taken = new Set(names.filter(fits));
  if (reserved !== undefined) taken.add(reserved);
  for (const name of names) {
    if (fits(name) || aliases.has(name)) continue;
    const plain = (name.replace(/[^A-Za-z0-9_-]/g, "_").slice(0, 64)) || "_";
    let [alias, hash] = [plain, name];
    // A name may be long, and a caller may have chosen others that take its aliases.
    while (taken.has(alias)) {
      hash = sha256Hex(hash);
      alias = `${plain.slice(0, 55)}_${hash.slice(0, 8)}`;
    }
    taken.add(alias);
    aliases.set(name, alias);
  }
  return {
    aliasOf: (name) => aliases.get(name) ?? name,
    toolNames: Object.fromEntries([...aliases].map(([name, alias]) => [alias, name])),
  };
}
