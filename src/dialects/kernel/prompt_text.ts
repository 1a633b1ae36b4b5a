import { finish, type Steps } from "../../base/steps.ts";
import { estimateAll } from "../../shared/token_estimate.ts";
import { isRecord } from "./json.ts";
import type { CanonicalRequest, Part } from "./canonical_request.ts";
import type { Dialect } from "./dialect.ts";
import { foldEvents } from "./fold.ts";

/**
 * The words of a request in any dialect, to count them where the vendor doesn't: every string of
 * the body that isn't media. Iterative, since callers may nest as deep as they like.
 */
export function promptText(body: unknown): string {
  return finish(promptTexts(body)).join("\n");
}

/** The same one by one, found in steps. */
export function* promptTexts(body: unknown): Steps<string[]> {
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

/** How many tokens they are, roughly, in steps. */
export function* promptTokens(body: unknown): Steps<number> {
  return yield* estimateAll(yield* promptTexts(body));
}

/** Addresses and base64 data are billed as media, not as words. */
function isMedia(value: string): boolean {
  // With words behind it, an address is where a prompt begins.
  return /^(data:|https?:\/\/)\S*$/.test(value) ||
    (value.length > 1000 && !/\s/.test(value.slice(0, 1000)) &&
      /^[A-Za-z0-9+/_=-]+$/.test(value.slice(0, 1000)));
}

/** The words of a whole answer, of the first one where there are several; reasoning left out. */
export function answerText(dialect: Pick<Dialect, "decodeAnswer">, json: unknown): string {
  const [first] = foldEvents(dialect.decodeAnswer(json, {})).choices;
  return (first?.parts ?? []).filter(({ kind }) => kind === "text").map(({ text }) => text).join(
    "",
  );
}

/** A request as people read it: who says what, in order. */
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
