import { pushAll } from "../../../base/lists.ts";
import type { RequestFacts } from "../../kernel/dialect.ts";
import { invalidValue } from "../../../shared/fault.ts";
import type { JsonRecord } from "../../kernel/json.ts";
import { splicer, storeEdits } from "../../kernel/splice_request.ts";
import { firstTextIn, type LocatedText, readTagBlocks } from "../../kernel/tag_blocks.ts";
import { bareModel } from "./models.ts";
import { camelCase, Fields } from "./request/fields.ts";
import { placeholderEdits } from "./request/unsigned_calls.ts";

/**
 * Returns what the gateway must know about a generate request. Its path names the model and
 * streaming: the route adds them to the JSON body, `{...body, model, stream}`; `stream` means that
 * the path ends in `:streamGenerateContent`.
 */
export function readRequest(body: unknown): RequestFacts {
  const fields = new Fields(body as JsonRecord, "");
  const config = fields.object("generationConfig");
  const choices = config ? choicesOf(config) : 1;
  const bound = config?.number("maxOutputTokens");
  return {
    model: bareModel(String(fields.record.model)),
    stream: fields.record.stream === true,
    wantsStreamUsage: true,
    endUser: undefined,
    maxOutputTokens: bound === undefined ? undefined : bound * choices,
    choices,
    serviceTier: fields.string("serviceTier")?.toLowerCase(),
    ...readTagBlocks([systemText(fields), userText(fields)]),
  };
}

/**
 * The same maximum as for chat requests; the possible cost of all choices is reserved before the
 * call.
 */
const maxChoices = 128;

function choicesOf(config: Fields): number {
  const choices = Math.max(1, config.number("candidateCount") ?? 1);
  if (choices <= maxChoices) return choices;
  throw invalidValue(config.at("candidateCount"), `expected at most ${maxChoices}`);
}

/**
 * Returns the request's text for a vendor of this dialect: tag lines cut, a `model` member replaced
 * if the caller sent one, and unsigned calls marked with the placeholder.
 */
export const spliceRequest = splicer({
  *edits(bodyText, members, changes) {
    refuseTwoSpellings(members.members.keys());
    const edits = yield* storeEdits(bodyText, members, changes);
    const { unsigned } = changes;
    if (unsigned) {
      pushAll(edits, yield* placeholderEdits(bodyText, members, unsigned, changes.model));
    }
    return edits;
  },
  modelMember: (model) => `models/${bareModel(model)}`,
});

/** Throws if a member is there in both its spellings: the vendor might read the other one. */
function refuseTwoSpellings(names: Iterable<string>): void {
  const seen = new Set<string>();
  for (const name of names) {
    if (seen.has(camelCase(name))) throw invalidValue(name, "duplicate field");
    seen.add(camelCase(name));
  }
}

function systemText(fields: Fields): LocatedText | undefined {
  const key = fields.key("systemInstruction");
  const system = fields.record[key];
  return typeof system === "string"
    ? { text: system, path: [key] }
    : firstTextIn(system, [key], () => true, "parts");
}

function userText({ record: { contents } }: Fields): LocatedText | undefined {
  const isUser = ({ role = "user" }: JsonRecord) => role === "user";
  return firstTextIn(contents, ["contents"], isUser, "parts");
}
