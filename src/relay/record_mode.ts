import type { RecordMode } from "../keys/api_key.ts";
import { invalidValue } from "../shared/fault.ts";
import type { CallContext } from "./call_context.ts";

/**
 * Returns how much of a call is recorded. Its key decides, and `X-Record` can only reduce it.
 * Throws `invalid_value` if that header is neither `full` nor `metadata`.
 */
export function recordModeOf(caller: Pick<CallContext, "header" | "principal">): RecordMode {
  const asked = caller.header("x-record")?.trim().toLowerCase();
  if (asked !== undefined && asked !== "full" && asked !== "metadata") {
    throw invalidValue("X-Record", "expected full or metadata");
  }
  return asked === "metadata" ? "metadata" : caller.principal.key.recording ?? "full";
}

/**
 * Refuses a call whose `field` asks for something that needs stored content, if only metadata is
 * recorded. Throws `invalid_value`.
 */
export function refuseUnrecorded(caller: CallContext, field: string, why: string): void {
  if (recordModeOf(caller) === "full") return;
  throw invalidValue(field, `${why}, but only metadata of this call is recorded`);
}
