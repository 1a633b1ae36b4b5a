import { type Fault, invalidValue } from "../../shared/fault.ts";
import type { CanonicalRequest } from "./canonical_request.ts";

/** For vendors that need a user's turn, of a conversation without one that can be carried. */
export function noUserTurn({ turnsPath = "messages" }: Pick<CanonicalRequest, "turnsPath">): Fault {
  return invalidValue(turnsPath, "at least one user message is required");
}
