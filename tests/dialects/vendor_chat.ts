/** Chat streams as servers write them, with the deviations of chat-completions.md §4.3. */
import { writeChatUsage } from "./vendor_usage.ts";
import type { Random } from "./random.ts";
import type { Payload } from "./recordings.ts";
import type { Call, Story } from "./stories.ts";
import { framed, framingFor, type Piece, pieceOf } from "./wire.ts";

/** Habits of one server. */
interface Habits {
  role: "first" | "every" | "empty" | "never";
  noFinish: null | "" | undefined;
  usage: "chunk" | "finish" | "every" | "after-done" | "x_groq";
  usageChoices: "empty" | "missing";
  reasoning: "reasoning_content" | "reasoning" | "reasoning_details" | "parts";
  calls: "opener" | "whole" | "late-name" | "no-index" | "repeated-id" | "interleaved";
  toolsFinish: "tool_calls" | "stop";
  marker: boolean;
  noise: boolean;
  additive: boolean;
  /** Whether usage has its total. */
  total: boolean;
}

/** The pieces of a stream, and whether its vendor counts reasoning beside the output. */
export function chatStream(
  story: Story,
  random: Random,
): { pieces: Piece[]; additive: boolean } {
  const habits = habitsFor(random);
  const framing = framingFor(random, false);
  const head = { id: "upstream-1", created: 1_690_000_000, model: "vendor-chat" };
  const chunk = (more: Payload): Payload => ({ ...head, object: "chat.completion.chunk", ...more });
  const { total_tokens, ...counts } = writeChatUsage(story.usage, habits.additive);
  const usage = habits.additive || habits.total ? { ...counts, total_tokens } : counts;
  const byChoice = story.choices.map((choice) => deltasOf(choice, habits, random));
  const chunks = interleaved(byChoice, random).map((choice, at, all) => {
    const isEnd = at === all.length - 1;
    const counted = habits.usage === "every" || (habits.usage === "finish" && isEnd);
    const so = isEnd
      ? usage
      : { ...usage, completion_tokens: 0, total_tokens: counts.prompt_tokens };
    const groq = habits.usage === "x_groq" && isEnd ? { x_groq: { usage } } : {};
    return chunk({ choices: [choice], ...groq, ...(counted ? { usage: so } : {}) });
  });
  const usageChunk = chunk({
    ...(habits.usageChoices === "empty" ? { choices: [] } : {}),
    usage,
  });
  if (habits.usage === "chunk") chunks.push(usageChunk);
  const pieces = chunks.map((one) => pieceOf(one, framing));
  if (habits.marker) pieces.push({ text: `data: [DONE]${framing.lineEnd}${framing.lineEnd}` });
  if (habits.usage === "after-done") pieces.push(pieceOf(usageChunk, framing));
  return { pieces: framed(pieces, framing, random), additive: habits.additive };
}

function habitsFor(random: Random): Habits {
  return {
    role: random.pick(["first", "every", "empty", "never"]),
    noFinish: random.pick([null, "", undefined]),
    usage: random.pick(["chunk", "chunk", "finish", "every", "after-done", "x_groq"]),
    usageChoices: random.pick(["empty", "missing"]),
    reasoning: random.pick(["reasoning_content", "reasoning", "reasoning_details", "parts"]),
    calls: random.pick([
      "opener",
      "whole",
      "late-name",
      "no-index",
      "repeated-id",
      "interleaved",
    ]),
    toolsFinish: random.pick(["tool_calls", "tool_calls", "stop"]),
    marker: random.chance(80),
    noise: random.chance(40),
    additive: random.chance(15),
    total: random.chance(80),
  };
}

/** The entries of `choices` that one choice consists of, in order. */
function deltasOf(choice: Story["choices"][number], habits: Habits, random: Random): Payload[] {
  const deltas: Payload[] = [];
  const calls: Call[] = [];
  for (const part of choice.parts) {
    if (part.kind === "tool-call") calls.push(part);
    for (const text of part.kind === "tool-call" ? [] : random.cut(part.text)) {
      if (part.kind === "text") deltas.push({ content: text });
      if (part.kind === "refusal") deltas.push({ refusal: text });
      if (part.kind === "reasoning") deltas.push(reasoningDelta(text, habits));
    }
  }
  const fragments = calls.map((call, index) => callDeltas(call, index, habits, random));
  // Calls open in the order of their indexes, and then go on side by side.
  const inOrder = habits.calls === "interleaved"
    ? [...fragments.map((list) => list.shift()!), ...interleaved(fragments, random)]
    : fragments.flat();
  deltas.push(...inOrder.map((one) => ({ tool_calls: [one] })));
  const noisy = habits.noise ? deltas.flatMap((one) => [noise(random), one]) : deltas;
  const all = noisy.map((delta, at): Payload => ({
    index: choice.index,
    delta: { ...role(habits, at), ...delta },
    ...(habits.noFinish === undefined ? {} : { finish_reason: habits.noFinish }),
  }));
  if (all.length === 0) {
    all.push({ index: choice.index, delta: { role: "assistant", content: "" } });
  }
  return [...all, {
    index: choice.index,
    delta: {},
    finish_reason: finishWord(choice, habits, random),
  }];
}

function role(habits: Habits, at: number): Payload {
  if (habits.role === "never" || (habits.role === "first" && at > 0)) return {};
  return { role: habits.role === "empty" && at > 0 ? "" : "assistant" };
}

function noise(random: Random): Payload {
  return random.pick<Payload>([
    { content: null },
    { content: "", tool_calls: [] },
    { obfuscation: "xxxx" },
    { reasoning_content: "" },
    { tool_calls: null, refusal: null },
  ]);
}

function reasoningDelta(text: string, habits: Habits): Payload {
  if (habits.reasoning === "reasoning_details") {
    return { reasoning_details: [{ type: "reasoning.text", text, format: "x", index: 0 }] };
  }
  if (habits.reasoning === "parts") {
    return { content: [{ type: "thinking", thinking: [{ type: "text", text }] }] };
  }
  return { [habits.reasoning]: text };
}

function callDeltas(call: Call, index: number, habits: Habits, random: Random): Payload[] {
  const key = call.custom ? "custom" : "function";
  const field = call.custom ? "input" : "arguments";
  const body = (more: Payload): Payload => ({ [key]: more });
  const at = habits.calls === "no-index" ? {} : { index };
  const text = call.text === "{}" && random.chance(30) ? "" : call.text;
  const id = habits.calls === "repeated-id" ? { id: call.id } : {};
  const type = random.chance(20) ? null : key;
  const named = { ...at, id: call.id, type };
  if (habits.calls === "whole") return [{ ...named, ...body({ name: call.name, [field]: text }) }];
  const pieces = random.cut(text).map((piece) => ({ ...at, ...id, ...body({ [field]: piece }) }));
  if (habits.calls !== "late-name") {
    return [{ ...named, ...body({ name: call.name, [field]: "" }) }, ...pieces];
  }
  const first = pieces.slice(0, 1);
  const opener = { ...named, ...(call.custom ? body({}) : {}) };
  return [opener, ...first, { ...at, ...body({ name: call.name }) }, ...pieces.slice(1)];
}

function finishWord(choice: Story["choices"][number], habits: Habits, random: Random): string {
  switch (choice.finish.reason) {
    case "stop":
      return random.pick(["stop", "stop", "eos", "end_turn"]);
    case "length":
      return random.pick(["length", "length", "max_tokens", "model_length"]);
    case "tool_calls":
      return habits.toolsFinish;
    case "content_filter":
      return random.pick(["content_filter", "safety"]);
  }
}

/** Several lists as one, each in its own order. */
function interleaved<T>(lists: readonly T[][], random: Random): T[] {
  const rest = lists.map((list) => [...list]).filter((list) => list.length > 0);
  const out: T[] = [];
  while (rest.length > 0) {
    const list = random.pick(rest);
    out.push(list.shift()!);
    if (list.length === 0) rest.splice(rest.indexOf(list), 1);
  }
  return out;
}
