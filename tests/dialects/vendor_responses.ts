/** Responses streams as servers write them (responses.md §5), abbreviating ones included. */
import type { AnswerPart } from "../../src/dialects/kernel/canonical.ts";
import type { Random } from "./random.ts";
import type { Payload } from "./recordings.ts";
import type { Call, Story } from "./stories.ts";
import { writeResponsesUsage } from "./vendor_usage.ts";
import { framed, framingFor, type Piece, pieceOf } from "./wire.ts";

/** Habits of one server. */
interface Habits {
  /** Where the words stand: in deltas and all `done` events, or only in one of these. */
  words: "everywhere" | "deltas" | "done" | "item";
  parts: boolean;
  added: boolean;
  itemIds: boolean;
  numbers: "whole" | "gaps" | "none";
  /** Whether the last object repeats the output. */
  lastOutput: boolean;
  lifecycle: boolean;
  rawReasoning: boolean;
  vendorItems: boolean;
  marker: boolean;
  obfuscates: boolean;
  cutsSilently: boolean;
}

export function responsesStream(story: Story, random: Random): Piece[] {
  const habits = habitsFor(random);
  const framing = framingFor(random, random.chance(85));
  const choice = story.choices[0]!;
  const items = choice.parts.map((part, at) => itemOf(part, at, habits));
  const isCut = choice.finish.reason === "length";
  const all = habits.vendorItems ? [search, ...items] : items;
  const parts = habits.vendorItems ? [undefined, ...choice.parts] : choice.parts;
  const events = all.flatMap((item, at) => {
    const status = isCut && at === all.length - 1 ? "incomplete" : "completed";
    return itemEvents({ ...item, status }, parts[at], at, habits, random);
  });
  const base = { id: "resp_up", object: "response", created_at: 1, model: "vendor-responses" };
  const begun = { ...base, status: "in_progress", output: [], usage: null };
  // A server may say so of the cut call alone.
  const isSilent = habits.cutsSilently && isCut && choice.parts.at(-1)?.kind === "tool-call";
  const isIncomplete = (isCut && !isSilent) || choice.finish.reason === "content_filter";
  const status = isIncomplete ? "incomplete" : "completed";
  const last = {
    ...base,
    status,
    incomplete_details: status === "completed"
      ? null
      : { reason: isCut ? "max_output_tokens" : "content_filter" },
    output: habits.lastOutput ? doneItems(events) : [],
    usage: writeResponsesUsage(story.usage),
  };
  const whole: Payload[] = [
    { type: "response.created", response: begun },
    ...(habits.lifecycle ? [{ type: "response.in_progress", response: begun }] : []),
    ...events,
    { type: `response.${status}`, response: last },
  ];
  const pieces = numbered(whole, habits).map((event) => pieceOf(event, framing));
  if (habits.marker) pieces.push({ text: `data: [DONE]${framing.lineEnd}${framing.lineEnd}` });
  return framed(pieces, framing, random);
}

function habitsFor(random: Random): Habits {
  return {
    words: random.pick(["everywhere", "everywhere", "deltas", "done", "item"]),
    parts: random.chance(80),
    added: random.chance(90),
    itemIds: random.chance(90),
    numbers: random.pick(["whole", "whole", "gaps", "none"]),
    lastOutput: random.chance(70),
    lifecycle: random.chance(80),
    rawReasoning: random.chance(30),
    vendorItems: random.chance(20),
    marker: random.chance(15),
    obfuscates: random.chance(20),
    cutsSilently: random.chance(30),
  };
}

const search: Payload = {
  id: "ws_1",
  type: "web_search_call",
  action: { type: "search", query: "q" },
};

function numbered(events: readonly Payload[], habits: Habits): Payload[] {
  if (habits.numbers === "none") return [...events];
  const step = habits.numbers === "gaps" ? 3 : 1;
  return events.map((event, at) => ({ ...event, sequence_number: at * step }));
}

function doneItems(events: readonly Payload[]): unknown[] {
  return events.filter(({ type }) => type === "response.output_item.done").map(({ item }) => item);
}

/** The item as it is when it is done. */
function itemOf(part: AnswerPart, at: number, habits: Habits): Payload {
  switch (part.kind) {
    case "reasoning": {
      const own = { id: `rs_${at}`, type: "reasoning" };
      return habits.rawReasoning
        ? { ...own, summary: [], content: [{ type: "reasoning_text", text: part.text }] }
        : { ...own, summary: [{ type: "summary_text", text: part.text }], encrypted_content: "eA" };
    }
    case "tool-call": {
      const named = { call_id: part.id, name: part.name };
      return part.custom
        ? { id: `ctc_${at}`, type: "custom_tool_call", ...named, input: part.text }
        : { id: `fc_${at}`, type: "function_call", ...named, arguments: part.text };
    }
    default: {
      const content = part.kind === "refusal"
        ? { type: "refusal", refusal: part.text }
        : { type: "output_text", text: part.text, annotations: [], logprobs: [] };
      return { id: `msg_${at}`, type: "message", role: "assistant", content: [content] };
    }
  }
}

function itemEvents(
  item: Payload,
  part: AnswerPart | undefined,
  at: number,
  habits: Habits,
  random: Random,
): Payload[] {
  const place = { output_index: at };
  const id = habits.itemIds ? item.id : `${item.id}_${random.below(1000)}`;
  const begun = emptied({ ...item, id, status: "in_progress" });
  const words = part ? wordEvents(item, part, { ...place, item_id: id }, habits, random) : [];
  // Only what an item says by itself can come before the whole item.
  return [
    ...(habits.added ? [{ type: "response.output_item.added", ...place, item: begun }] : []),
    ...words,
    { type: "response.output_item.done", ...place, item: habits.words === "deltas" ? item : item },
  ];
}

function emptied(item: Payload): Payload {
  const fields: Payload = { ...item };
  for (const key of ["content", "summary"]) if (key in fields) fields[key] = [];
  for (const key of ["arguments", "input"]) if (key in fields) fields[key] = "";
  return fields;
}

/** Names of the events that carry a part's words, and where they put them. */
function wordsOf(item: Payload, part: AnswerPart): { name: string; field: string; index: Payload } {
  switch (part.kind) {
    case "reasoning":
      return "content" in item
        ? { name: "reasoning_text", field: "text", index: { content_index: 0 } }
        : { name: "reasoning_summary_text", field: "text", index: { summary_index: 0 } };
    case "tool-call":
      return part.custom
        ? { name: "custom_tool_call_input", field: "input", index: {} }
        : { name: "function_call_arguments", field: "arguments", index: {} };
    case "refusal":
      return { name: "refusal", field: "refusal", index: { content_index: 0 } };
    default:
      return { name: "output_text", field: "text", index: { content_index: 0 } };
  }
}

function wordEvents(
  item: Payload,
  part: AnswerPart,
  place: Payload,
  habits: Habits,
  random: Random,
): Payload[] {
  if (habits.words === "item") return [];
  const { name, field, index } = wordsOf(item, part);
  // Without the opener a call has its name only in its `done`.
  const at = { ...place, ...index };
  const obfuscation = habits.obfuscates ? { obfuscation: "zzz" } : {};
  const deltas = habits.words === "done" ? [] : random.cut(part.text).map((delta) => ({
    type: `response.${name}.delta`,
    ...at,
    delta,
    ...obfuscation,
  }));
  const done = habits.words === "deltas"
    ? []
    : [{ type: `response.${name}.done`, ...at, [field]: part.text, ...nameOf(part) }];
  return [
    ...partEvent("added", item, part, at, habits),
    ...deltas,
    ...done,
    ...partEvent("done", item, part, at, habits),
  ];
}

function nameOf(part: AnswerPart): Partial<Pick<Call, "name">> {
  return part.kind === "tool-call" && !part.custom ? { name: part.name } : {};
}

function partEvent(
  verb: "added" | "done",
  item: Payload,
  part: AnswerPart,
  at: Payload,
  habits: Habits,
): Payload[] {
  if (!habits.parts || part.kind === "tool-call") return [];
  const isSummary = part.kind === "reasoning" && !("content" in item);
  const shown = ((isSummary ? item.summary : item.content) as Payload[])[0]!;
  const field = part.kind === "refusal" ? "refusal" : "text";
  const type = isSummary ? "response.reasoning_summary_part" : "response.content_part";
  return [{
    type: `${type}.${verb}`,
    ...at,
    part: verb === "added" ? { ...shown, [field]: "" } : shown,
  }];
}
