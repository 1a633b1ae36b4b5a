import {
  type Edit,
  itemsAt,
  locateInSteps,
  membersAtSteps,
  type TextRange,
} from "../../../../base/json_text.ts";
import { pushAll } from "../../../../base/lists.ts";
import type { Steps } from "../../../../base/steps.ts";
import { isSound, promptMediaTokens } from "../../../../shared/media_estimate.ts";
import { estimateTokens, type InputTokenBounds } from "../../../../shared/token_estimate.ts";
import { invalidValue, unreadableAnswer } from "../../../../shared/fault.ts";
import type { BillableUsage } from "../../../../pricing/pricing.ts";
import type { HostedWork, StateSearch } from "../../../kernel/hosted.ts";
import { optionalField } from "../../../kernel/fields.ts";
import { filesIn } from "../hosted.ts";
import { mediaFields } from "../media.ts";
import { bareModel } from "../models.ts";
import { readUsage } from "../usage.ts";
import {
  asList,
  asRecord,
  asString,
  isRecord,
  type JsonRecord,
  jsonValue,
  recordsIn,
} from "../../../kernel/json.ts";
import type { Operation, Outcome } from "../../../kernel/operation.ts";
import { type OperationRequest, recordText } from "../../../kernel/operation_request.ts";
import { JsonAnswerReader } from "../../../kernel/answer_reader.ts";

const shared = {
  name: "embeddings",
  mediaFields,
  hostedWork,
  countedText: recordText,
  bound: (_request: OperationRequest, counted: InputTokenBounds) => ({
    ...counted,
    maxOutputTokens: 0,
  }),
} as const;

/**
 * Returns the files that the contents name: those in the vendor's account, and those that it
 * fetches.
 */
function* hostedWork(fields: JsonRecord): Steps<HostedWork> {
  const search: StateSearch = { state: [], elements: 0 };
  let fetchedTokens = yield* filesIn(fields.content, "content", search);
  for (const [index, one] of asList(fields.requests).entries()) {
    fetchedTokens += yield* filesIn(asRecord(one).content, `requests[${index}].content`, search);
  }
  return { tools: [], state: search.state, fetchedTokens };
}

/** `:embedContent`: the vector of one content. */
export const embedContent: Operation = {
  ...shared,
  kind: "embedContent",
  reader: (request) => new VectorReader(request, "embedding"),
  *modelEdits({ text, top }, request, model) {
    const range = yield* locateInSteps(text, top, ["model"]);
    return nameModel(request, model, "model", request.fields, range);
  },
};

/** `:batchEmbedContents`: the vectors of several contents; each entry repeats the model. */
export const batchEmbedContents: Operation = {
  ...shared,
  kind: "batchEmbedContents",
  reader: (request) => new VectorReader(request, "embeddings"),
  *modelEdits({ text, top }, request, model) {
    const requests = Array.isArray(request.fields.requests) ? request.fields.requests : [];
    const list = yield* locateInSteps(text, top, ["requests"]);
    const ranges = list ? yield* itemsAt(text, list) : [];
    const edits: Edit[] = [];
    for (const [index, one] of requests.entries()) {
      const start = ranges[index]?.start;
      const object = start === undefined ? undefined : yield* membersAtSteps(text, start);
      const member = object?.members.get("model");
      const range = member && { start: member.valueStart, end: member.valueEnd };
      const param = `requests[${index}].model`;
      pushAll(edits, nameModel(request, model, param, asRecord(one), range));
      yield;
    }
    return edits;
  },
};

/**
 * Returns the edits that write the vendor's model name, if the body names the model. Throws
 * `invalid_value` if it names another model than the path, whose price applies.
 */
function nameModel(
  request: OperationRequest,
  model: string,
  param: string,
  fields: JsonRecord,
  range: TextRange | undefined,
): Edit[] {
  const written = asString(fields.model);
  if (written === undefined || range === undefined) return [];
  if (![request.model, model].includes(bareModel(written))) {
    throw invalidValue(param, "names another model than the path");
  }
  const wanted = `models/${bareModel(model)}`;
  return written === wanted ? [] : [{ ...range, text: JSON.stringify(wanted) }];
}

/** Only newer models report tokens; for others the text is counted. */
class VectorReader extends JsonAnswerReader {
  readonly #member: "embedding" | "embeddings";
  #usage: BillableUsage | undefined;
  #sawAnswer = false;

  constructor(request: OperationRequest, member: "embedding" | "embeddings") {
    super(request);
    this.#member = member;
  }

  whole(text: string): void {
    this.json(jsonValue(text));
  }

  override json(value: unknown): void {
    const answer = asRecord(value);
    const made = answer[this.#member];
    if (this.#member === "embedding" ? !isRecord(made) : !Array.isArray(made)) {
      throw unreadableAnswer("an answer without embeddings");
    }
    this.#sawAnswer = true;
    this.#usage = readUsage(answer.usageMetadata);
  }

  outcome(): Outcome | undefined {
    if (!this.#sawAnswer) return undefined;
    if (this.#usage && this.#usage.input > 0) return { usage: this.#usage, basis: "reported" };
    const { fields } = this.request;
    const contents = this.#member === "embedding" ? [fields] : recordsIn(fields.requests);
    const parts = contents.flatMap(({ content }) => recordsIn(asRecord(content).parts));
    let [input, audioInput] = [0, 0];
    for (const { text, inlineData, inline_data: other } of parts) {
      const inline = asRecord(inlineData ?? other);
      const media = asString(inline.data) ?? "";
      const mimeType = asString(inline.mimeType ?? inline.mime_type);
      const tokens = promptMediaTokens(media, mimeType);
      input += estimateTokens(asString(text) ?? "") + tokens;
      if (isSound(media, mimeType)) audioInput += tokens;
    }
    const sound = optionalField("audioInput", audioInput || undefined);
    return { usage: { input, ...sound, output: 0 }, basis: "estimated" };
  }
}
