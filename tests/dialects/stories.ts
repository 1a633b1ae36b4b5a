/** Made-up answers, from which each dialect's vendor stream is written: what must arrive is known. */
import type {
  AnswerPart,
  CanonicalAnswer,
  CanonicalChoice,
} from "../../src/dialects/kernel/canonical.ts";
import type { Usage } from "../../src/shared/usage.ts";
import type { Name } from "./translated.ts";
import type { Random } from "./random.ts";

export type Call = Extract<AnswerPart, { kind: "tool-call" }>;

export interface Story {
  choices: (CanonicalChoice & { finish: NonNullable<CanonicalChoice["finish"]> })[];
  usage: Usage & { cacheRead: number; reasoning: number };
}

/** An answer that a vendor of the dialect can give. */
export function storyFor(vendor: Name, random: Random): Story {
  const mayBeMany = vendor === "chat" || vendor === "generate";
  const count = mayBeMany && random.chance(20) ? 2 + random.below(2) : 1;
  const cacheRead = random.below(50);
  const reasoning = random.below(20);
  return {
    choices: Array.from({ length: count }, (_, index) => choiceFor(vendor, index, random)),
    usage: { input: cacheRead + random.below(900), cacheRead, output: 20 + reasoning, reasoning },
  };
}

/** The story as the answer that a decoder has to make of it. */
export function answerOf(story: Story): CanonicalAnswer {
  const { choices, usage } = story;
  return { id: undefined, model: undefined, created: undefined, choices, usage, truncated: false };
}

function choiceFor(vendor: Name, index: number, random: Random): Story["choices"][number] {
  const ending = random.pick(["stop", "stop", "tools", "tools", "tools", "length", "filter"]);
  const parts = spokenParts(vendor, random);
  if (ending === "tools" || (ending === "length" && random.chance(40))) {
    parts.push(...random.list(1, 3, (at) => callFor(vendor, `${index}${at}`, random)));
  }
  if (ending === "length") cutLastCall(vendor, parts, random);
  const called = parts.some(({ kind }) => kind === "tool-call");
  const reason = ending === "length"
    ? "length" as const
    : called
    ? "tool_calls" as const
    : ending === "filter"
    ? "content_filter" as const
    : "stop" as const;
  return { index, parts, logprobs: undefined, finish: { reason, raw: reason } };
}

function spokenParts(vendor: Name, random: Random): AnswerPart[] {
  const parts: AnswerPart[] = [];
  if (random.chance(40)) parts.push({ kind: "reasoning", text: random.words() });
  if (random.chance(75)) parts.push({ kind: "text", text: random.words() });
  const refuses = (vendor === "chat" || vendor === "responses") && random.chance(10);
  if (refuses) return [...parts.slice(0, 0), { kind: "refusal", text: random.words() }];
  return parts;
}

function callFor(vendor: Name, at: string, random: Random): Call {
  const custom = (vendor === "chat" || vendor === "responses") && random.chance(10);
  const text = custom ? random.words() : JSON.stringify(argumentsOf(random));
  return {
    kind: "tool-call",
    id: `call_${at}`,
    name: random.pick(["f", "get_x", "f-2"]),
    custom,
    text,
  };
}

function argumentsOf(random: Random): Record<string, unknown> {
  const value = () =>
    random.pick([random.words(), 1.5, -3, true, null, ["x", { y: 0 }], { k: "v" }]);
  return Object.fromEntries(
    random.list(0, 3, (at) => [random.pick(["a", "é b", "c"]) + at, value()]),
  );
}

/** The output limit may end an answer within a call; arguments of generate come only whole. */
function cutLastCall(vendor: Name, parts: AnswerPart[], random: Random): void {
  const last = parts.at(-1);
  if (last?.kind !== "tool-call" || vendor === "generate" || last.custom) return;
  if (last.text.length > 2 && random.chance(50)) last.text = last.text.slice(0, -1);
}
