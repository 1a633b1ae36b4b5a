import { parseExactly } from "../../../../base/exact_json.ts";
import type { Steps } from "../../../../base/steps.ts";
import { isRecord, type JsonRecord } from "../../../kernel/json.ts";

type Emit = (type: string, fields: JsonRecord) => void;

/**
 * Returns the events of a stream for an answer that came whole, as JSON texts: each item from
 * `added` to `done`, each text in one delta. The last event holds the answer as it was written.
 */
export function* wholeEvents(text: string): Steps<string[]> {
  const response = parseExactly(text) as JsonRecord;
  const events: string[] = [];
  const emit: Emit = (type, fields) => {
    events.push(JSON.stringify({ type, ...fields, sequence_number: events.length }));
  };
  const begun = {
    ...response,
    ...{ status: "in_progress", output: [], usage: null, incomplete_details: null },
    ...("completed_at" in response ? { completed_at: null } : {}),
  };
  emit("response.created", { response: begun });
  emit("response.in_progress", { response: begun });
  const output = Array.isArray(response.output) ? response.output : [];
  for (const [index, item] of output.entries()) {
    if (isRecord(item)) writeItem(item, index, emit);
    yield;
  }
  const ending = response.status === "incomplete" ? "incomplete" : "completed";
  events.push(
    `{"type":"response.${ending}","response":${text},"sequence_number":${events.length}}`,
  );
  return events;
}

/** Members of items that have separate events, with the values that they have before these. */
const textMembers: Readonly<Record<string, JsonRecord>> = {
  message: { content: [] },
  reasoning: { summary: [], content: [] },
  function_call: { arguments: "" },
  custom_tool_call: { input: "" },
};

function writeItem(item: JsonRecord, output_index: number, emit: Emit): void {
  const empty = textMembers[String(item.type)] ?? {};
  const begun = Object.entries({ ...empty, ...item, status: "in_progress" })
    .filter(([name]) => name in item)
    .map(([name, value]) => [name, name in empty ? empty[name] : value]);
  emit("response.output_item.added", { output_index, item: Object.fromEntries(begun) });
  const at = { item_id: item.id, output_index };
  if ("summary" in empty) {
    for (const [index, part] of listOf(item.summary)) writeSummary(part, index, at, emit);
  }
  if ("content" in empty) {
    for (const [index, part] of listOf(item.content)) writePart(part, index, at, emit);
  }
  if ("arguments" in empty) {
    const text = String(item.arguments ?? "");
    const done = { arguments: text, name: item.name };
    writeText("response.function_call_arguments", text, done, at, emit);
  }
  if ("input" in empty) {
    const text = String(item.input ?? "");
    writeText("response.custom_tool_call_input", text, { input: text }, at, emit);
  }
  emit("response.output_item.done", { output_index, item });
}

function* listOf(value: unknown): Generator<[number, JsonRecord]> {
  if (!Array.isArray(value)) return;
  for (const [index, part] of value.entries()) if (isRecord(part)) yield [index, part];
}

function writeSummary(part: JsonRecord, summary_index: number, item: JsonRecord, emit: Emit): void {
  const at = { ...item, summary_index };
  const text = String(part.text ?? "");
  emit("response.reasoning_summary_part.added", { ...at, part: { ...part, text: "" } });
  writeText("response.reasoning_summary_text", text, { text }, at, emit);
  emit("response.reasoning_summary_part.done", { ...at, part });
}

function writePart(part: JsonRecord, content_index: number, item: JsonRecord, emit: Emit): void {
  const at = { ...item, content_index };
  const text = String(part.text ?? part.refusal ?? "");
  const begun = Object.entries(part).map(([name, value]) => {
    if (name === "text" || name === "refusal") return [name, ""];
    return [name, Array.isArray(value) ? [] : value];
  });
  emit("response.content_part.added", { ...at, part: Object.fromEntries(begun) });
  switch (part.type) {
    case "output_text": {
      const logprobs = part.logprobs ?? [];
      if (text !== "") emit("response.output_text.delta", { ...at, delta: text, logprobs });
      for (const [annotation_index, annotation] of listOf(part.annotations)) {
        const cited = { ...at, annotation_index, annotation };
        emit("response.output_text.annotation.added", cited);
      }
      emit("response.output_text.done", { ...at, text, logprobs });
      break;
    }
    case "refusal":
      writeText("response.refusal", text, { refusal: text }, at, emit);
      break;
    case "reasoning_text":
      writeText("response.reasoning_text", text, { text }, at, emit);
      break;
  }
  emit("response.content_part.done", { ...at, part });
}

/** Emits a text in one delta, and its `done` event. */
function writeText(name: string, text: string, done: JsonRecord, at: JsonRecord, emit: Emit): void {
  if (text !== "") emit(`${name}.delta`, { ...at, delta: text });
  emit(`${name}.done`, { ...at, ...done });
}
