import type { FuzzedOperation } from "./operations.ts";

/**
 * Whether a 400 has to have a reason in the document's schemas. Calls don't: vendors judge them too,
 * and most of their fields are passed on as they are.
 */
export function needsReason({ tag }: Pick<FuzzedOperation, "tag">): boolean {
  return ["administration", "data-management", "operations"].includes(tag);
}

/** Whether a refusal has a reason that no schema can state, or a parameter of the path has it. */
export function isBeyondSchemas(
  { parameters }: Pick<FuzzedOperation, "parameters">,
  message: string,
): boolean {
  const inPath = parameters.some(({ name, in: place }) =>
    place === "path" && message.startsWith(`${name}: `)
  );
  return inPath || reasons.some((reason) => reason.test(message));
}

const reasons: readonly RegExp[] = [
  // Fields that need or exclude each other.
  /: required; |: give (at least one|either|start_date)|: the limits of \w+ are fixed/,
  /^confirm: must be true|: (jsonl|csv) takes exactly one table/,
  /^expected_output_tokens: needs a daily or monthly cap|: the key has expected_output_tokens, /,
  /: the end is not after the start|: the last day is before the first|: expected a time after since|: the id is there twice/,
  /\.model: '.*' is targets\[\d+\]\.model already/,
  /^columns: expected at least one column of |^columns\[\d+\]: \w+ is a payload, and payloads is false/,
  // What exists, what this service has, and what time it is.
  /: the account has \d+ (webhooks|virtual models) already|^delivery: no bucket is configured/,
  /: unknown model '|: no model has the name '|: expected the account of this key|: expected a time in the future/,
  /: expected one of ([\w-]+, |\w+ \(vendor-a\))|: expected `next(_cursor)?` of the previous page/,
  // Texts whose form is described in words; of one that is all blanks, nothing is left.
  /: expected text without |and no control characters|printable ASCII characters|: expected at least 1 character\.$/,
  /: expected a public https URL|expected account, app:NAME or user:ID|: expected an amount above 0/,
  /: can't be used: |^model: expected a model with its vendor/,
  // The document has no way to say that parameters of the query other than its own are refused.
  /: unknown field(, expected one of |\.)/,
];
