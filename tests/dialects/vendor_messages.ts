/** Messages streams as servers write them (messages.md §5), compatible ones included. */
import type { AnswerPart } from "../../src/dialects/kernel/canonical.ts";
import type { Random } from "./random.ts";
import type { Payload } from "./recordings.ts";
import type { Call, Story } from "./stories.ts";
import { writeMessagesUsage } from "./vendor_usage.ts";
import { framed, framingFor, type Piece, pieceOf } from "./wire.ts";

/** Habits of one server. */
interface Habits {
  /** Where a call's input stands: in its deltas, or already in its start. */
  input: "deltas" | "start";
  /** Some of a text stands in its start. */
  filledStart: boolean;
  usage: "both" | "end" | "start-with-nulls";
  toolsStop: "tool_use" | "end_turn";
  /** The stream closes after `message_delta`. */
  noStop: boolean;
  twiceStarted: boolean;
  whole: boolean;
  noise: boolean;
  signs: boolean;
  marker: boolean;
}

export function messagesStream(story: Story, random: Random): Piece[] {
  const habits = habitsFor(random);
  const framing = framingFor(random, random.chance(85));
  const choice = story.choices[0]!;
  const usage = writeMessagesUsage(story.usage);
  const message = { id: "msg_up", type: "message", role: "assistant", model: "vendor-messages" };
  const stop = stopWord(choice, habits, random);
  const begun = { ...message, content: [], stop_reason: null, usage: startUsage(usage, habits) };
  const start: Payload = { type: "message_start", message: begun };
  const blocks = choice.parts.flatMap((part, index) => blockOf(part, index, habits, random));
  const end: Payload = {
    type: "message_delta",
    delta: { stop_reason: stop, stop_sequence: null },
    usage: endUsage(usage, habits),
  };
  const events = habits.whole && isSayable(choice.parts)
    ? [{
      type: "message_start",
      message: { ...begun, content: choice.parts.map(wholeBlock), stop_reason: stop, usage },
    }]
    : [
      start,
      ...(habits.twiceStarted ? [start] : []),
      ...(habits.noise ? strewn(blocks, random) : blocks),
      end,
      ...(habits.noStop ? [] : [{ type: "message_stop" }]),
    ];
  const pieces = events.map((event) => pieceOf(event, framing));
  if (habits.marker) pieces.push({ text: `data: [DONE]${framing.lineEnd}${framing.lineEnd}` });
  return framed(pieces, framing, random);
}

function habitsFor(random: Random): Habits {
  return {
    input: random.pick(["deltas", "deltas", "start"]),
    filledStart: random.chance(15),
    usage: random.pick(["both", "end", "start-with-nulls"]),
    toolsStop: random.pick(["tool_use", "tool_use", "end_turn"]),
    noStop: random.chance(15),
    twiceStarted: random.chance(10),
    whole: random.chance(8),
    noise: random.chance(40),
    signs: random.chance(50),
    marker: random.chance(10),
  };
}

function startUsage(usage: Payload, habits: Habits): Payload {
  if (habits.usage === "end") return { input_tokens: 0, output_tokens: 0 };
  return { ...usage, output_tokens: habits.usage === "both" ? 1 : usage.output_tokens };
}

function endUsage(usage: Payload, habits: Habits): Payload {
  switch (habits.usage) {
    case "both":
      return { output_tokens: usage.output_tokens };
    case "end":
      return usage;
    case "start-with-nulls":
      return {
        output_tokens: usage.output_tokens,
        input_tokens: null,
        cache_read_input_tokens: null,
      };
  }
}

function blockOf(part: AnswerPart, index: number, habits: Habits, random: Random): Payload[] {
  const delta = (value: Payload): Payload => ({ type: "content_block_delta", index, delta: value });
  const pieces = random.cut(part.text);
  const first = habits.filledStart ? pieces.shift() ?? "" : "";
  const start = (block: Payload): Payload => ({
    type: "content_block_start",
    index,
    content_block: block,
  });
  const stop: Payload = { type: "content_block_stop", index };
  switch (part.kind) {
    case "text":
      return [
        start({ type: "text", text: first }),
        ...pieces.map((text) => delta({ type: "text_delta", text })),
        stop,
      ];
    case "reasoning":
      return [
        start({ type: "thinking", thinking: first, signature: "" }),
        ...pieces.map((thinking) => delta({ type: "thinking_delta", thinking })),
        ...(habits.signs ? [delta({ type: "signature_delta", signature: "c2ln" })] : []),
        stop,
      ];
    case "tool-call":
      return [
        start(callStart(part, habits)),
        ...inputDeltas(part, habits, random).map(delta),
        stop,
      ];
    default:
      return [];
  }
}

function callStart(call: Call, habits: Habits): Payload {
  const input = inStart(call, habits) ? JSON.parse(call.text) : {};
  return { type: "tool_use", id: call.id, name: call.name, input };
}

/** An input that was cut has no whole value. */
function inStart(call: Call, habits: Habits): boolean {
  return habits.input === "start" && isWhole(call.text);
}

function inputDeltas(call: Call, habits: Habits, random: Random): Payload[] {
  const empty = random.chance(50) ? [""] : [];
  const isSilent = inStart(call, habits) || (call.text === "{}" && random.chance(50));
  const pieces = isSilent ? [] : random.cut(call.text);
  return [...empty, ...pieces].map((partial_json) => ({ type: "input_json_delta", partial_json }));
}

function wholeBlock(part: AnswerPart): Payload {
  if (part.kind === "tool-call") {
    return { type: "tool_use", id: part.id, name: part.name, input: JSON.parse(part.text) };
  }
  return part.kind === "reasoning"
    ? { type: "thinking", thinking: part.text, signature: "c2ln" }
    : { type: "text", text: part.text };
}

function isSayable(parts: readonly AnswerPart[]): boolean {
  return parts.every((part) => part.kind !== "tool-call" || isWhole(part.text));
}

function isWhole(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

function stopWord(choice: Story["choices"][number], habits: Habits, random: Random): string {
  switch (choice.finish.reason) {
    case "stop":
      return random.pick(["end_turn", "end_turn", "pause_turn", "something_new"]);
    case "length":
      return random.pick(["max_tokens", "model_context_window_exceeded"]);
    case "tool_calls":
      return habits.toolsStop;
    case "content_filter":
      return "refusal";
  }
}

/** Pings, events and deltas that nobody knows, between the events of the blocks. */
function strewn(events: readonly Payload[], random: Random): Payload[] {
  return events.flatMap((event) => {
    if (!random.chance(30)) return [event];
    const index = event.index;
    const inBlock = event.type === "content_block_delta";
    const between = random.pick<Payload>([
      { type: "ping" },
      { type: "message_progress", percent: 3 },
      ...(inBlock
        ? [{ type: "content_block_delta", index, delta: { type: "new_delta", x: 1 } }]
        : []),
    ]);
    return [between, event];
  });
}
