import type { LossWeight, UnsupportedField } from "../../../kernel/canonical_request.ts";
import type { JsonRecord } from "../../../kernel/json.ts";
import { saysNothing } from "../../../kernel/other_fields.ts";

/** Top-level fields that have a place in the canonical form, or are taken apart elsewhere. */
const supportedFields: ReadonlySet<string> = new Set([
  "model",
  "messages",
  "max_tokens",
  "system",
  "stop_sequences",
  "stream",
  "temperature",
  "top_p",
  "top_k",
  "tools",
  "tool_choice",
  "thinking",
  "output_config",
  "output_format",
  "metadata",
  "service_tier",
  "cache_control",
]);

/** Fields that change what is done or where, not only how well (translation.md §12). */
const meaningful: ReadonlySet<string> = new Set(["container", "inference_geo", "mcp_servers"]);

/** What a messages request says that other dialects have no word for. */
export function unsupportedFields(request: JsonRecord): UnsupportedField[] {
  return Object.entries(request).flatMap(([path, value]) => {
    if (supportedFields.has(path) || value === null || value === undefined || isNoOp(path, value)) {
      return [];
    }
    return [unsupported(path, value, meaningful.has(path) ? "meaning" : "hint")];
  });
}

function unsupported(path: string, value: unknown, weight: LossWeight): UnsupportedField {
  return { path, value, weight };
}

function isNoOp(path: string, value: unknown): boolean {
  if (path === "speed") return value === "standard";
  if (path === "inference_geo") return value === "global" || value === "not_available";
  return path === "mcp_servers" && saysNothing(value);
}
