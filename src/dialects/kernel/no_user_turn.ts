import { type Fault, invalidValue } from "../../shared/fault.ts";
import type { CanonicalRequest } from "./canonical_request.ts";

/**
 * The fault for a conversation without a user turn that can be carried, at vendors that require
 * one.
 */
export function noUserTurn({ turnsPath = "messages" }: Pick<CanonicalRequest, "turnsPath">): Fault {
  return invalidValue(turnsPath, "at least one user message is required");
}
