import { count, isRecord, type JsonRecord } from "../../kernel/json.ts";
import { bareModel } from "./models.ts";
import { Fields, wrong } from "./request/fields.ts";

/**
 * The generate request whose tokens a caller's `:countTokens` body asks for (generate-content.md
 * §8): `{contents}` or `{generateContentRequest: {…}}`, exactly one of them.
 */
export function countedRequest(body: unknown): JsonRecord {
  const fields = new Fields(isRecord(body) ? body : {}, "");
  const whole = fields.object("generateContentRequest");
  if (whole && fields.has("contents")) {
    throw wrong(fields.at("generateContentRequest"), "either contents or this field, not both");
  }
  if (whole) return whole.record;
  return { contents: fields.list("contents") ?? missingContents() };
}

/** Body that asks the vendor to count a whole request, tools and system included. */
export function countTokensBody(request: JsonRecord, model: string): Record<string, unknown> {
  return { generateContentRequest: { ...request, model: `models/${bareModel(model)}` } };
}

/** `totalTokens` of the vendor's answer. */
export function readTokenCount(answer: unknown): number | undefined {
  return isRecord(answer) ? count(answer.totalTokens) : undefined;
}

export function writeTokenCount(totalTokens: number): Record<string, unknown> {
  return { totalTokens };
}

function missingContents(): never {
  throw wrong("contents", "an array of contents, or generateContentRequest");
}
