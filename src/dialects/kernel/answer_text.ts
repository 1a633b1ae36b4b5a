import type { CanonicalRequest, Part } from "./canonical_request.ts";
import type { Dialect } from "./dialect.ts";
import { foldEvents } from "./fold.ts";

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
