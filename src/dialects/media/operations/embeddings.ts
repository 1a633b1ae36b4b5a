import { Buffer } from "node:buffer";
import { mapInSteps, type Steps } from "../../../base/steps.ts";
import { estimateTokens } from "../../../shared/token_estimate.ts";
import { Fault, unreadableAnswer } from "../../../shared/fault.ts";
import type { BillableUsage } from "../../../pricing/pricing.ts";
import type { Loss } from "../../kernel/canonical_request.ts";
import { asRecord, count, isRecord, type JsonRecord, jsonValue } from "../../kernel/json.ts";
import { isEmptyValue } from "../../kernel/other_fields.ts";
import { vendorCost } from "../../kernel/vendor_cost.ts";
import type { AnswerEnding, Operation, Outcome } from "../../kernel/operation.ts";
import { recordText } from "../../kernel/operation_request.ts";
import { JsonAnswerReader } from "../../kernel/answer_reader.ts";
import { reportsTrustedCost } from "../../kernel/reported_tokens.ts";

/** Text to vectors. */
export const embeddings: Operation = {
  kind: "embeddings",
  name: "embeddings",
  mediaFields: [],
  // 2,048 vectors of 4,096 numbers, plus the JSON around them.
  maxValues: 8_500_000,
  countedText: recordText,
  bound: (_request, counted) => ({ ...counted, maxOutputTokens: 0 }),
  reader: (request) => new EmbeddingReader(request),
};

class EmbeddingReader extends JsonAnswerReader {
  #usage: BillableUsage | undefined;
  #sawAnswer = false;

  whole(text: string): void {
    this.json(jsonValue(text));
  }

  /** Reads only the usage: an answer may be megabytes of numbers. */
  override json(value: unknown): void {
    const { data, usage } = asRecord(value);
    if (!Array.isArray(data)) throw unreadableAnswer("an answer without embeddings");
    this.#sawAnswer = true;
    if (usage !== undefined) this.#usage = readEmbeddingUsage(usage);
  }

  outcome({ ignoresCost }: AnswerEnding): Outcome | undefined {
    if (!this.#sawAnswer) return undefined;
    const reported = this.#usage;
    if (reported && (reported.input > 0 || reportsTrustedCost(reported, ignoresCost))) {
      return { usage: reported, basis: "reported" };
    }
    return {
      usage: { input: inputTokens(this.request.fields.input), output: 0 },
      basis: "estimated",
    };
  }
}

export function inputTokens(input: unknown): number {
  if (typeof input === "string") return estimateTokens(input);
  if (typeof input === "number") return 1;
  return Array.isArray(input) ? input.reduce((sum: number, one) => sum + inputTokens(one), 0) : 0;
}

/** Maximum number of texts in one request, as at OpenAI. */
const maxTexts = 2048;

/** Returns the texts of `input`, for vendors that accept no token ids and are called in batches. */
export function textInputs(input: unknown): string[] {
  const texts: unknown[] = Array.isArray(input) ? input : [input];
  if (!texts.every((one) => typeof one === "string")) {
    throw new Fault("unsupported_parameter", {
      param: "input",
      message: "input: this model's vendor accepts text only, not token ids.",
    });
  }
  if (texts.length > maxTexts) {
    const message = `input: at most ${maxTexts} texts per request, got ${texts.length}.`;
    throw new Fault("invalid_value", { param: "input", message });
  }
  return texts;
}

/** Fields that a vendor called in batches receives, or the record stores. */
const carried: readonly string[] = ["model", "input", "encoding_format", "dimensions", "user"]
  .concat("safety_identifier");

/** Fields that a vendor of another dialect can't receive. */
export function embeddingLosses(fields: JsonRecord): Loss[] {
  return Object.entries(fields)
    .filter(([name, value]) => !carried.includes(name) && !isEmptyValue(value))
    .map(([path]) => ({ path, weight: "hint" }));
}

/** Lists vectors in steps, as the embeddings dialect does: as numbers, or 32-bit floats as base64. */
export function* embeddingList(
  vectors: readonly (readonly number[])[],
  { model, tokens, asBase64 }: { model: string; tokens: number; asBase64: boolean },
): Steps<unknown> {
  return {
    object: "list",
    data: yield* mapInSteps(vectors, (vector, index) => ({
      object: "embedding",
      index,
      embedding: asBase64 ? floatsInBase64(vector) : vector,
    })),
    model,
    usage: { prompt_tokens: tokens, total_tokens: tokens },
  };
}

function floatsInBase64(vector: readonly number[]): string {
  const bytes = Buffer.alloc(vector.length * 4);
  vector.forEach((value, index) => bytes.writeFloatLE(value, index * 4));
  return bytes.toString("base64");
}

/** Reads usage in the embeddings dialect; undefined when it holds no numbers. */
export function readEmbeddingUsage(raw: unknown): BillableUsage | undefined {
  if (!isRecord(raw)) return undefined;
  const input = count(raw.prompt_tokens) ?? count(raw.total_tokens);
  return input === undefined ? undefined : { input, output: 0, ...vendorCost(raw), raw };
}
