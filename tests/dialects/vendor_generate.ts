/** Generate streams as servers write them (generate-content.md §5). */
import type { AnswerPart } from "../../src/dialects/kernel/canonical.ts";
import type { Random } from "./random.ts";
import type { Payload } from "./recordings.ts";
import type { Call, Story } from "./stories.ts";
import { writeGenerateUsage } from "./vendor_usage.ts";
import { framed, framingFor, type Piece, pieceOf } from "./wire.ts";

/** Habits of one server. */
interface Habits {
  index: boolean;
  role: boolean;
  callIds: boolean;
  /** Arguments in pieces, each naming its place. */
  partialArgs: boolean;
  /** Several parts in one element. */
  bundles: boolean;
  finish: "own-element" | "last-part" | "every";
  usage: "every" | "last";
  signature: "none" | "on-part" | "late";
  toolTokens: number;
  noise: boolean;
  /** Elements in one array in an event. */
  arrays: boolean;
}

export function generateStream(story: Story, random: Random): Piece[] {
  const habits = habitsFor(random);
  const framing = { ...framingFor(random, false), lineEnd: "\r\n" as const };
  const usage = writeGenerateUsage(story.usage, habits.toolTokens);
  const byChoice = story.choices.map((choice) => candidatesOf(choice, habits, random));
  const rounds = Math.max(...byChoice.map((list) => list.length));
  const elements: Payload[] = [];
  for (let round = 0; round < rounds; round++) {
    const candidates = byChoice.flatMap((list) => list[round] ?? []);
    const isLast = round === rounds - 1;
    const counted = isLast
      ? { usageMetadata: usage }
      : habits.usage === "every"
      ? { usageMetadata: { promptTokenCount: usage.promptTokenCount } }
      : {};
    elements.push({ candidates, ...counted, modelVersion: "vendor-generate", responseId: "up" });
  }
  const pieces = elements.map((one) => pieceOf(one, framing)).map((piece) => {
    if (!habits.arrays || framing.pretty) return piece;
    const text = `data: ${JSON.stringify([piece.payload])}\r\n\r\n`;
    return { ...piece, text };
  });
  return framed(pieces, framing, random);
}

function habitsFor(random: Random): Habits {
  return {
    index: random.chance(60),
    role: random.chance(80),
    callIds: random.chance(50),
    partialArgs: random.chance(30),
    bundles: random.chance(40),
    finish: random.pick(["own-element", "last-part", "last-part", "every"]),
    usage: random.pick(["every", "last"]),
    signature: random.pick(["none", "on-part", "late"]),
    toolTokens: random.pick([0, 0, 9]),
    noise: random.chance(30),
    arrays: random.chance(10),
  };
}

/** The candidate's share of each element, in order. */
function candidatesOf(choice: Story["choices"][number], habits: Habits, random: Random): Payload[] {
  const parts = choice.parts.flatMap((part) => partsOf(part, habits, random));
  if (habits.noise) parts.unshift({ executableCode: { language: "PYTHON", code: "1" } });
  if (habits.signature === "late") parts.push({ text: "", thoughtSignature: "c2ln" });
  const groups = habits.bundles ? bundled(parts, random) : parts.map((part) => [part]);
  const finish = finishWord(choice, random);
  const content = (list: Payload[]) => ({
    ...(habits.role ? { role: "model" } : {}),
    parts: list,
  });
  // An index of 0 may be left out; further ones can't be.
  const index = choice.index === 0 && !habits.index ? {} : { index: choice.index };
  const elements = groups.map((group): Payload => ({
    content: content(group),
    ...(habits.finish === "every" ? { finishReason: finish } : {}),
    ...index,
  }));
  const last = elements.at(-1);
  if (habits.finish === "own-element" || !last) elements.push({ finishReason: finish, ...index });
  else last.finishReason = finish;
  return elements;
}

function bundled(parts: readonly Payload[], random: Random): Payload[][] {
  const groups: Payload[][] = [];
  for (const part of parts) {
    if (groups.length === 0 || random.chance(50)) groups.push([part]);
    else groups.at(-1)!.push(part);
  }
  return groups;
}

function partsOf(part: AnswerPart, habits: Habits, random: Random): Payload[] {
  if (part.kind === "tool-call") return callParts(part, habits, random);
  const thought = part.kind === "reasoning" ? { thought: true } : {};
  return random.cut(part.text).map((text) => ({ text, ...thought }));
}

function callParts(call: Call, habits: Habits, random: Random): Payload[] {
  const args = JSON.parse(call.text) as Record<string, unknown>;
  const named = { name: call.name, ...(habits.callIds ? { id: call.id } : {}) };
  const signed = habits.signature === "on-part" ? { thoughtSignature: "c2ln" } : {};
  const isFlat = Object.values(args).every((one) => typeof one !== "object" || one === null);
  if (!habits.partialArgs || !isFlat) {
    const empty = Object.keys(args).length === 0 && random.chance(50);
    return [{ functionCall: { ...named, ...(empty ? {} : { args }) }, ...signed }];
  }
  const pieces = Object.entries(args).flatMap(([key, value]) => partialArgs(key, value, random));
  return [
    { functionCall: { ...named, willContinue: true }, ...signed },
    ...pieces.map((one) => ({ functionCall: { partialArgs: [one], willContinue: true } })),
    { functionCall: {} },
  ];
}

function partialArgs(key: string, value: unknown, random: Random): Payload[] {
  const place = { jsonPath: `$['${key}']` };
  if (typeof value === "number") return [{ ...place, numberValue: value }];
  if (typeof value === "boolean") return [{ ...place, boolValue: value }];
  if (value === null) return [{ ...place, nullValue: "NULL_VALUE" }];
  const pieces = random.cut(String(value));
  return pieces.map((stringValue, at) => ({
    ...place,
    stringValue,
    ...(at < pieces.length - 1 ? { willContinue: true } : {}),
  }));
}

function finishWord(choice: Story["choices"][number], random: Random): string {
  switch (choice.finish.reason) {
    case "length":
      return "MAX_TOKENS";
    case "content_filter":
      return random.pick(["SAFETY", "RECITATION", "SPII", "BLOCKLIST"]);
    case "stop":
      return random.pick(["STOP", "STOP", "OTHER"]);
    default:
      return "STOP";
  }
}
