import type { DialectName } from "../../contracts/calls/vendors.ts";
import type { DialectQuirks } from "../dialects/kernel/dialect.ts";
import { dialects } from "../dialects/text/mod.ts";
import type { Usage } from "../shared/usage.ts";

/**
 * A vendor's own usage object, as records keep it, in the neutral form; undefined when it holds no
 * numbers. What a dialect reports elsewhere in its answer (the service tier of chat, searches of
 * generate) isn't in it.
 */
export function readRawUsage(
  dialect: DialectName,
  raw: unknown,
  quirks: DialectQuirks,
): Usage | undefined {
  return dialects[dialect].readRawUsage(raw, quirks);
}
