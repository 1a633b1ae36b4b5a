import type { Buffer } from "node:buffer";
import type { QuotedJson } from "../base/quoted_json.ts";
import type { SettledCall } from "../shared/interaction.ts";
import type { Retained } from "../shared/stored_response.ts";

/**
 * The texts of a call's stored response that are quoted. They are the last ones in the JSON text of
 * the call's record, each after its length in bytes:
 *
 *     {…,"kept":{…,"response":{…,"inputItemsBytes":14,"inputItemsText":"[\"megabytes\"]"}}}
 *
 * So their bytes are written and read as they are, and a reader that doesn't look at the lengths
 * reads the same record.
 */
export type QuotedTexts = Partial<Record<TextName, QuotedJson>>;

type TextName = "answerText" | "inputItemsText";

/** In the order in which a record has them, with what is before each. */
const layout: readonly { name: TextName; lengthName: string; textName: string }[] = [
  { name: "answerText", lengthName: ',"answerBytes":', textName: ',"answerText":' },
  { name: "inputItemsText", lengthName: ',"inputItemsBytes":', textName: ',"inputItemsText":' },
];

const ending = "}}}";

/** Undefined where nothing is quoted. */
export function quotedTextsOf({ retained }: SettledCall): QuotedTexts | undefined {
  const { answerText, inputItemsText } = retained?.response ?? {};
  if (typeof answerText !== "object" && typeof inputItemsText !== "object") return undefined;
  return {
    ...(typeof answerText === "object" ? { answerText } : {}),
    ...(typeof inputItemsText === "object" ? { inputItemsText } : {}),
  };
}

/** Leaves out the quoted texts, and makes their place the last one. */
export function withoutQuotedTexts(retained: Retained): object {
  const { response, ...others } = retained;
  const isQuoted = (text: unknown) => typeof text === "object";
  if (!response || !layout.some(({ name }) => isQuoted(response[name]))) return retained;
  const { answerText, inputItemsText, ...rest } = response;
  const plain = {
    ...rest,
    ...(isQuoted(answerText) ? {} : { answerText }),
    ...(isQuoted(inputItemsText) ? {} : { inputItemsText }),
  };
  return { ...others, response: plain };
}

/** Returns a record's JSON text with its quoted texts, as pieces that follow each other. */
export function withQuotedTexts(
  json: string,
  quoted: QuotedTexts,
): (string | Uint8Array)[] {
  const pieces: (string | Uint8Array)[] = [json.slice(0, -ending.length)];
  for (const { name, lengthName, textName } of layout) {
    const text = quoted[name];
    if (text) pieces.push(`${lengthName}${text.length}${textName}`, text);
  }
  return [...pieces, ending];
}

/** Returns a record's JSON text without its quoted texts, whose bytes are parts of `json`. */
export function cutQuotedTexts(json: Buffer): { rest: string; quoted: QuotedTexts } | undefined {
  let to = json.length - ending.length;
  // Most records end in another way.
  if (json.toString("latin1", to - 1) !== `"${ending}`) return undefined;
  const quoted: QuotedTexts = {};
  for (const { name, lengthName, textName } of layout.toReversed()) {
    // Not in a caller's text: that has its quotes escaped.
    const at = json.indexOf(lengthName);
    const digits = /^\d{1,10}/.exec(json.toString("latin1", at + lengthName.length, at + 32))?.[0];
    if (at < 0 || digits === undefined) continue;
    const from = at + lengthName.length + digits.length + textName.length;
    if (from + Number(digits) !== to) continue;
    quoted[name] = json.subarray(from, to) as QuotedJson;
    to = at;
  }
  if (Object.keys(quoted).length === 0) return undefined;
  return { rest: json.toString("utf8", 0, to) + ending, quoted };
}
