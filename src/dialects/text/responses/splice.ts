import { parseExactly } from "../../../base/exact_json.ts";
import { type Edit, itemsAt, removeItems, type TextRange } from "../../../base/json_text.ts";
import { pushAll } from "../../../base/lists.ts";
import { includesInSteps, mapInSteps, type Steps } from "../../../base/steps.ts";
import type { RequestFacts } from "../../kernel/dialect.ts";
import { asString, isRecord, type JsonRecord } from "../../kernel/json.ts";
import { missingField } from "../../../shared/fault.ts";
import { readSafetyUser } from "../../kernel/safety_user.ts";
import { splicer } from "../../kernel/splice_request.ts";
import { firstTextIn, type LocatedText, readTagBlocks } from "../../kernel/tag_blocks.ts";
import { envelopeMark, isEnvelope } from "./conversation/envelope.ts";
import { readSummary, summaryMessage } from "./conversation/summary.ts";
import { statelessEdits } from "./conversation/stateless.ts";

/**
 * Returns the request's text for a vendor of this dialect: the model replaced, tag lines cut,
 * reasoning in the gateway's envelope removed, which comes from a translated call and which this
 * vendor would refuse, and summaries that the gateway wrote turned into plain text.
 */
export const spliceRequest = splicer({
  *edits(bodyText, members, changes) {
    const edits: Edit[] = changes.keepNothing
      ? yield* statelessEdits(bodyText, members, changes.keepNothing.sealReasoning)
      : [];
    const input = members.members.get("input");
    if (input && (yield* includesInSteps(bodyText, envelopeMark))) {
      const range = { start: input.valueStart, end: input.valueEnd };
      pushAll(edits, yield* withoutEnvelopes(bodyText, range));
    }
    return edits;
  },
});

/**
 * Returns the edits that remove another vendor's reasoning, and that turn a summary which the
 * gateway wrote into a message.
 */
function* withoutEnvelopes(bodyText: string, input: TextRange): Steps<Edit[]> {
  const ranges = yield* itemsAt(bodyText, input);
  const edits: Edit[] = [];
  const sealed = yield* mapInSteps(ranges, (range) => {
    const item = enveloped(bodyText, range);
    const summary = readSummary(item);
    if (summary !== undefined) {
      edits.push({ ...range, text: JSON.stringify(summaryMessage(summary)) });
    }
    return item?.type === "reasoning";
  }, sealedEach);
  return [...edits, ...(yield* removeItems(ranges, (at) => sealed[at]!))];
}

/** Items per step: reasoning may be as large as an answer. */
const sealedEach = 8;

/** Returns the item if it holds an envelope. Only items with the prefix are parsed. */
function enveloped(bodyText: string, { start, end }: TextRange): JsonRecord | undefined {
  const text = bodyText.slice(start, end);
  if (!text.includes(envelopeMark)) return undefined;
  const item: unknown = parseExactly(text);
  if (!isRecord(item) || typeof item.encrypted_content !== "string") return undefined;
  return isEnvelope(item.encrypted_content) ? item : undefined;
}

/** Returns what the gateway must know about a responses request; `body` has passed the contract. */
export function readRequest(body: unknown): RequestFacts {
  const request = body as JsonRecord;
  requireInput(request);
  return {
    model: String(request.model),
    stream: request.stream === true,
    // The terminal event always has usage: nothing needs to be requested.
    wantsStreamUsage: true,
    ...readSafetyUser(request),
    maxOutputTokens: typeof request.max_output_tokens === "number"
      ? request.max_output_tokens
      : undefined,
    choices: 1,
    serviceTier: asString(request.service_tier),
    ...readTagBlocks([systemText(request), userText(request)]),
  };
}

/**
 * Throws `missing_required_field` for a request without `input`, unless it names state of the
 * vendor that can take its place.
 */
function requireInput(request: JsonRecord): void {
  const names = ["input", "prompt", "conversation", "previous_response_id"];
  if (names.every((name) => (request[name] ?? undefined) === undefined)) {
    throw missingField("input");
  }
}

/** Returns `instructions` if there are any, or else the first system or developer text. */
function systemText({ instructions, input }: JsonRecord): LocatedText | undefined {
  const text = asString(instructions);
  if (text !== undefined) return { text, path: ["instructions"] };
  return firstTextIn(
    input,
    ["input"],
    (item) => isMessage(item) && (item.role === "system" || item.role === "developer"),
  );
}

function userText({ input }: JsonRecord): LocatedText | undefined {
  if (typeof input === "string") return { text: input, path: ["input"] };
  return firstTextIn(input, ["input"], (item) => isMessage(item) && item.role === "user");
}

function isMessage({ type = "message" }: JsonRecord): boolean {
  return type === null || type === "message";
}
