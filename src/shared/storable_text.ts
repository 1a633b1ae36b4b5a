import { z } from "zod";
import { type Fault, invalidValue } from "./fault.ts";

/**
 * Returns the fault of the first text that PostgreSQL can't hold, in a field or as its name. For
 * what administrators name, which is refused; the content of calls is stored with U+FFFD instead
 * (`sanitizeText`).
 */
export function unstorableText(
  value: unknown,
  path: readonly PropertyKey[] = [],
): Fault | undefined {
  if (typeof value === "string") {
    if (!value.includes("\0") && value.isWellFormed()) return undefined;
    return invalidValue(
      z.core.toDotPath(path),
      "expected text without U+0000 or unpaired surrogates",
    );
  }
  if (typeof value !== "object" || value === null) return undefined;
  for (const [name, inner] of Object.entries(value)) {
    const at = [...path, Array.isArray(value) ? Number(name) : name];
    const fault = unstorableText(name, path) ?? unstorableText(inner, at);
    if (fault) return fault;
  }
  return undefined;
}
