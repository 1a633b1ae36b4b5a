import { finish, type Steps } from "../../base/steps.ts";
import { estimateAll } from "../../shared/token_estimate.ts";
import { isRecord } from "./json.ts";
import type { CanonicalRequest, Part } from "./canonical_request.ts";
import type { Dialect } from "./dialect.ts";
import { foldEvents } from "./fold.ts";

/**
 * The text of a request in any dialect, to count its tokens if the vendor doesn't: every string in
 * the body that isn't media. Iterative, since callers may nest arbitrarily deep.
 */
export function promptText(body: unknown): string {
  return finish(promptTexts(body)).join("\n");
}

/** The same as a list, collected in steps. */
function* promptTexts(body: unknown): Steps<string[]> {
  const texts: string[] = [];
  const stack: unknown[] = [body];
  for (let looked = 1; stack.length > 0; looked++) {
    if (looked % 2048 === 0) yield;
    const value = stack.pop();
    if (typeof value === "string") {
      if (!isMedia(value)) texts.push(value);
    } else if (Array.isArray(value)) {
      for (const one of value) stack.push(one);
    } else if (isRecord(value)) {
      for (const one of Object.values(value)) stack.push(one);
    }
  }
  return texts;
}

/** Their estimated number of tokens, in steps. */
export function* promptTokens(body: unknown): Steps<number> {
  return yield* estimateAll(yield* promptTexts(body));
}

/** Addresses and base64 data are billed as media, not as text. */
function isMedia(value: string): boolean {
  // An address with text after it starts a prompt.
  return /^(data:|https?:\/\/)\S*$/.test(value) ||
    (value.length > 1000 && !/\s/.test(value.slice(0, 1000)) &&
      /^[A-Za-z0-9+/_=-]+$/.test(value.slice(0, 1000)));
}

/** The text of a whole answer, of its first choice if there are several, without reasoning. */
export function answerText(dialect: Pick<Dialect, "decodeAnswer">, json: unknown): string {
  const [first] = foldEvents(dialect.decodeAnswer(json, {})).choices;
  return (first?.parts ?? []).filter(({ kind }) => kind === "text").map(({ text }) => text).join(
    "",
  );
}

/** A request as a readable transcript. */
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
