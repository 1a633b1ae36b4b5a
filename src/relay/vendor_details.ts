import { isRecord, type JsonRecord } from "../dialects/kernel/json.ts";

/** What a vendor's details may hold at most; larger ones are none. */
const maxText = 4_096;
const maxDepth = 6;

/** Members that name the account behind the key. */
const accountMember =
  /^(?:organi[sz]ation|workspace|account|project|api_?key)(?:_?(?:id|uuid|name))?$/i;

/**
 * `error.details` of a vendor's refusal for the caller: clients read there what they can do about
 * it (`error_code`). Every text in it is scrubbed as the message is.
 */
export function publicDetails(
  details: JsonRecord | undefined,
  scrub: (text: string) => string,
): JsonRecord | undefined {
  if (details === undefined || JSON.stringify(details).length > maxText) return undefined;
  const scrubbed = scrubbedValue(details, scrub, 0);
  return isRecord(scrubbed) ? scrubbed : undefined;
}

function scrubbedValue(value: unknown, scrub: (text: string) => string, depth: number): unknown {
  if (typeof value === "string") return scrub(value);
  if (typeof value !== "object" || value === null) return value;
  if (depth === maxDepth) return null;
  if (Array.isArray(value)) return value.map((one) => scrubbedValue(one, scrub, depth + 1));
  return Object.fromEntries(
    Object.entries(value).filter(([name]) => !accountMember.test(name))
      .map(([name, one]) => [scrub(name), scrubbedValue(one, scrub, depth + 1)]),
  );
}
