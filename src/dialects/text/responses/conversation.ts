import {
  changeMembersSteps,
  locateSteps,
  splice,
  type TextRange,
  wholeRange,
} from "../../../base/json_text.ts";
import type { Steps } from "../../../base/steps.ts";
import { rewriteItems, writeJson, writeJsonPieces } from "../../../base/write_json.ts";
import { missingField } from "../../../shared/fault.ts";
import type { Conversation } from "../../kernel/conversation.ts";
import { asString, type BodyAndText, isRecord, type JsonRecord } from "../../kernel/json.ts";
import {
  continueFrom,
  inputItems,
  isUnsealed,
  type Item,
  referenceOf,
  resolveReferences,
  sealItems,
  storedOutput,
  unsealedIds,
  withoutUnsealedReasoning,
} from "./conversation/state.ts";
import { requireIncluded } from "./conversation/included.ts";
import { listedIds, listedItem } from "./conversation/listing.ts";

/** How the gateway continues a stored response. */
export const conversation: Conversation = {
  previousField: "previous_response_id",
  inputField: "input",

  previousId: (body) => isRecord(body) ? asString(body.previous_response_id) : undefined,

  wantsStored: (body) => isRecord(body) && body.store !== false,

  requireInput(body) {
    if (isRecord(body) && (body.input ?? undefined) === undefined) throw missingField("input");
  },

  inputItems,

  listing: { ids: listedIds, shown: listedItem },

  requireIncluded,

  answerId: (answer) => storedOutput(answer)?.id,

  referencedIds: (body) => inputItems(body).map(referenceOf).filter((id) => id !== undefined),

  itemIds: (answer) => (storedOutput(answer)?.output ?? []).flatMap(({ id }) => asString(id) ?? []),

  unsealedIds: (items) => unsealedIds(isRecord(items) ? items.output : items),

  sealItems(items, find) {
    if (Array.isArray(items)) return sealItems(items, find);
    if (!isRecord(items) || !Array.isArray(items.output)) return items;
    return { ...items, output: sealItems(items.output, find) };
  },

  *sealInput({ body, bodyText }, find) {
    const items = isRecord(body) && Array.isArray(body.input) ? body.input : [];
    if (!items.some(isUnsealed)) return { body, bodyText };
    const sealed = sealItems(items, find).filter(isRecord);
    return yield* withInput({ body, bodyText }, withoutUnsealedReasoning(sealed));
  },

  *resolve({ body, bodyText }, answers) {
    const items = new Map(
      answers.flatMap((answer) => storedOutput(answer)?.output ?? [])
        .map((item) => [asString(item.id), item]),
    );
    const resolved = resolveReferences(inputItems(body), (id) => items.get(id));
    return yield* withInput({ body, bodyText }, withoutUnsealedReasoning(resolved));
  },

  *continueFrom({ body, bodyText, inputItems: stored, answer }) {
    const request = body as JsonRecord;
    const items = [...stored.filter(isRecord), ...storedOutput(answer)?.output ?? []];
    const continued = continueFrom(items, request);
    return {
      // The answer repeats the id of the response that it continues; the vendor doesn't get it.
      body: { ...continued, previous_response_id: request.previous_response_id },
      bodyText: yield* continuedText(bodyText, request, continued.input as Item[]),
    };
  },
};

function* withInput({ body, bodyText }: BodyAndText, input: readonly Item[]): Steps<BodyAndText> {
  const request = body as JsonRecord;
  const range = (yield* locateSteps(bodyText, ["input"])) as TextRange;
  const text = yield* rewriteItems(bodyText, range, request.input as Item[], input);
  return {
    body: { ...request, input },
    bodyText: splice(bodyText, [{ ...range, text }]),
  };
}

/**
 * Returns the request's text with the conversation added to its input. The caller's own input stays
 * byte for byte, unless it refers to items of the conversation.
 */
function* continuedText(
  bodyText: string,
  request: JsonRecord,
  input: readonly Item[],
): Steps<string> {
  const range = yield* locateSteps(bodyText, ["input"]);
  // `changeMembersSteps` makes all changes at once, since it handles the commas.
  const edits = yield* changeMembersSteps(bodyText, wholeRange(bodyText), {
    remove: ["previous_response_id"],
    insert: range ? [] : [["input", yield* writeJson(input)]],
  });
  if (range) edits.push({ ...range, text: yield* inputText(bodyText, range, request, input) });
  return splice(bodyText, edits);
}

function* inputText(
  bodyText: string,
  range: TextRange,
  request: JsonRecord,
  input: readonly Item[],
): Steps<string> {
  const own = inputItems(request);
  // The caller's own items are last; if some were left out, the text can't be reused.
  const earlier = input.length - own.length;
  const isUnchanged = own.every((item, index) => input[earlier + index] === item);
  const isText = typeof request.input === "string";
  if (!isText && (!isUnchanged || own.length === 0)) return yield* writeJson(input);
  const pieces = ["["];
  for (const item of input.slice(0, Math.max(0, earlier))) {
    yield* writeJsonPieces(item, pieces);
    pieces.push(",");
  }
  const callersText = bodyText.slice(range.start, range.end);
  if (isText) {
    const part = `{"type":"input_text","text":${callersText}}`;
    pieces.push(`{"type":"message","role":"user","content":[${part}]}]`);
  } else pieces.push(callersText.slice(1));
  return pieces.join("");
}
