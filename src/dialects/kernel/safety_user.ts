import type { RequestFacts } from "./dialect.ts";
import { asString, type JsonRecord } from "./json.ts";

/** Returns the end user of a request that has `safety_identifier`, or the older `user`. */
export function readSafetyUser(
  { safety_identifier, user }: JsonRecord,
): Pick<RequestFacts, "endUser" | "endUserField"> {
  const newer = asString(safety_identifier);
  if (newer !== undefined) return { endUser: newer, endUserField: "safety_identifier" };
  const older = asString(user);
  return older === undefined ? { endUser: undefined } : { endUser: older, endUserField: "user" };
}
