import type { TokenCountEndpoint } from "../../kernel/dialect.ts";
import { invalidValue } from "../../../shared/fault.ts";
import { asRecord, count, isRecord, type JsonRecord } from "../../kernel/json.ts";
import { bareModel, countTokensPath } from "./models.ts";
import { resultText } from "./request/decode_contents.ts";
import { Fields } from "./request/fields.ts";

/** `:countTokens`, which takes a whole request or its contents alone. */
export const counting: TokenCountEndpoint = {
  path: countTokensPath,
  // The whole request, since tools and system text count too.
  requestBody: (request, model) => ({
    generateContentRequest: { ...request, model: `models/${bareModel(model)}` },
  }),
  read: (answer) => count(asRecord(answer).totalTokens),
  requestOf: countedRequest,
  standAlone: withoutStrayResults,
  write: (tokens) => ({ totalTokens: tokens }),
};

/** `{contents}` or `{generateContentRequest: {…}}`, exactly one of them. */
function countedRequest(body: unknown): JsonRecord {
  const fields = new Fields(asRecord(body), "");
  const whole = fields.object("generateContentRequest");
  if (whole && fields.has("contents")) {
    throw invalidValue(
      fields.at("generateContentRequest"),
      "expected either contents or this field, not both",
    );
  }
  if (whole) return whole.record;
  return { contents: fields.value("contents") ?? missingContents() };
}

function missingContents(): never {
  throw invalidValue("contents", "expected an array of contents, or generateContentRequest");
}

/**
 * Writes results in the first content, which no call precedes, as the text and media in them: Gemini
 * CLI counts results with media alone, and Google counts them.
 */
function withoutStrayResults(request: JsonRecord): JsonRecord {
  const fields = new Fields(request, "");
  const value = fields.value("contents");
  const contents = Array.isArray(value) ? value : [value];
  const first = contents[0];
  // Decoding refuses what isn't an object.
  if (!isRecord(first)) return request;
  const parts = new Fields(first, `${fields.at("contents")}[0]`).objects("parts");
  if (!parts.some((part) => part.has("functionResponse"))) return request;
  const written = { ...first, parts: parts.flatMap(contentOf) };
  return { ...request, contents: [written, ...contents.slice(1)] };
}

function contentOf(part: Fields): JsonRecord[] {
  const result = part.object("functionResponse");
  if (!result) return [part.record];
  const media = result.objects("parts").map(({ record }) => record);
  const { text } = resultText(result.object("response")?.record ?? {}, media.length > 0);
  return text === undefined ? media : [{ text }, ...media];
}
