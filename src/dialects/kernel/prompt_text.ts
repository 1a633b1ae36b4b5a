import type { Steps } from "../../base/steps.ts";
import { isLongBase64, promptMediaTokens } from "../../shared/media_estimate.ts";
import { estimateAll } from "../../shared/token_estimate.ts";
import { isRecord } from "./json.ts";
import type { CanonicalRequest, Part } from "./canonical_request.ts";
import type { Dialect } from "./dialect.ts";
import { foldEvents } from "./fold.ts";

/**
 * Returns the text of a request in any dialect, and the estimated tokens of its media, to count
 * tokens if the vendor doesn't. The text is every string in the body that isn't media. Iterative,
 * since callers may nest arbitrarily deep.
 */
export function* promptContent(body: unknown): Steps<{ texts: string[]; mediaTokens: number }> {
  const texts: string[] = [];
  let mediaTokens = 0;
  const stack: unknown[] = [body];
  for (let looked = 1; stack.length > 0; looked++) {
    if (looked % 2048 === 0) yield;
    const value = stack.pop();
    if (typeof value === "string") {
      if (isMedia(value)) mediaTokens += promptMediaTokens(value);
      else texts.push(value);
    } else if (Array.isArray(value)) {
      for (const one of value) stack.push(one);
    } else if (isRecord(value)) {
      for (const one of Object.values(value)) stack.push(one);
    }
  }
  return { texts, mediaTokens };
}

/** The estimated number of tokens of a request, in steps. */
export function* promptTokens(body: unknown): Steps<number> {
  const { texts, mediaTokens } = yield* promptContent(body);
  return (yield* estimateAll(texts)) + mediaTokens;
}

/** Addresses and base64 data are billed as media, not as text. */
function isMedia(value: string): boolean {
  // An address followed by text is a prompt.
  return /^(data:|https?:\/\/)\S*$/.test(value) || isLongBase64(value);
}

/** The text of a whole answer, of its first choice if there are several, without reasoning. */
export function answerText(dialect: Pick<Dialect, "decodeAnswer">, json: unknown): string {
  const [first] = foldEvents(dialect.decodeAnswer(json, {})).choices;
  return (first?.parts ?? []).flatMap(({ kind, text }) => kind === "text" ? text : []).join("");
}

/** Returns a request as a readable transcript. */
export function requestWords({ system, turns }: CanonicalRequest): string {
  return [
    ...system.map(({ text }) => `system: ${text}`),
    ...turns.map(({ role, parts }) => `${role}: ${parts.map(partText).join("\n")}`),
  ].join("\n\n");
}

function partText(part: Part): string {
  switch (part.type) {
    case "text":
    case "refusal":
    case "reasoning":
      return part.text;
    case "media":
      return `[${part.kind}]`;
    case "tool-call":
      return `[calls ${part.name} with ${part.arguments}]`;
    case "tool-result":
      return `[result: ${part.parts.map(partText).join("\n")}]`;
  }
}
