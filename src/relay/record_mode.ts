import type { RecordMode } from "../keys/api_key.ts";
import { invalidValue } from "../shared/fault.ts";
import type { CallContext } from "./call_context.ts";

/**
 * What is recorded of a call: by its key, and by `X-Record`, which can only take away. Throws
 * `invalid_value` for another word in that header.
 */
export function recordModeOf(caller: Pick<CallContext, "header" | "principal">): RecordMode {
  const asked = caller.header("x-record")?.trim().toLowerCase();
  if (asked !== undefined && asked !== "full" && asked !== "metadata") {
    throw invalidValue("X-Record", "expected full or metadata");
  }
  return asked === "metadata" ? "metadata" : caller.principal.key.recording ?? "full";
}

/**
 * Refuses what can't be had of a call that leaves no content: `field` asks for it. Throws
 * `invalid_value`.
 */
export function refuseUnrecorded(caller: CallContext, field: string, why: string): void {
  if (recordModeOf(caller) === "full") return;
  throw invalidValue(field, `${why}, and of this call only metadata is recorded`);
}
