import assert from "@std/assert";
import { SseSplitter } from "../../src/base/sse.ts";

/** For tests: one event of a responses stream, parsed. */
export type WireEvent = Record<string, unknown> & { type: string };
type Item = Record<string, unknown>;

/**
 * For tests: asserts that a text is one responses stream as responses.md §5 wants it – names,
 * numbering, order, one start and one end, `done` equal to its deltas, the last object equal to
 * what was told – and gives its events.
 */
export function checkResponsesStream(text: string): WireEvent[] {
  const events = parseFrames(text);
  events.forEach((event, index) => assert.equal(event.sequence_number, index, event.type));
  const first = events[0];
  if (first?.type === "error") {
    assert.equal(events.length, 1, "an error event alone");
    return events;
  }
  assert.deepEqual(events.slice(0, 2).map((event) => event.type), [
    "response.created",
    "response.in_progress",
  ]);
  const last = events.at(-1)!;
  assert.match(last.type, /^response\.(completed|incomplete|failed)$/);
  for (const event of events.slice(2, -1)) {
    assert.doesNotMatch(event.type, /^(error|response\.(created|in_progress|queued|completed))$/);
    assert.doesNotMatch(event.type, /^response\.(incomplete|failed)$/);
  }
  const lives = [events[0], events[1], last].map((event) => event!.response as Item);
  assert.equal(new Set(lives.map((response) => response.id)).size, 1, "one response id");
  for (const response of lives) checkResponse(response);
  assert.equal(`response.${String(lives[2]!.status)}`, last.type);
  assert.deepEqual([lives[0]!.usage, lives[1]!.usage], [null, null]);
  const machine = new ItemMachine();
  for (const event of events.slice(2, -1)) machine.take(event);
  if (last.type === "response.failed") {
    assert.ok(lives[2]!.error);
    const told = (lives[2]!.output as Item[]).slice(0, machine.done.length);
    assert.deepEqual(told, machine.done);
  } else {
    assert.equal(machine.open, undefined, "an item is still open");
    assert.deepEqual(lives[2]!.output, machine.done);
    assert.equal(typeof (lives[2]!.usage as Item).total_tokens, "number");
  }
  return events;
}

/** The keys that the schema requires or that are always emitted (responses.md §4). */
export function checkResponse(response: Item): void {
  assert.equal(response.object, "response");
  const keys = `id created_at completed_at status background error incomplete_details instructions
    max_output_tokens max_tool_calls model output parallel_tool_calls previous_response_id reasoning
    service_tier store temperature text tool_choice tools top_logprobs top_p truncation usage user
    metadata prompt_cache_key safety_identifier`;
  for (const key of keys.split(/\s+/)) assert.ok(key in response, `response.${key} is missing`);
}

function parseFrames(text: string): WireEvent[] {
  const splitter = new SseSplitter({ maxEventBytes: 1 << 24 });
  const events = [...splitter.push(new TextEncoder().encode(text)), ...splitter.end()];
  return events.map((event) => {
    assert.ok(event.terminated, "a frame without its blank line");
    assert.notEqual(event.data, "[DONE]");
    const json = JSON.parse(event.data!) as WireEvent;
    assert.equal(event.event, json.type);
    return json;
  });
}

interface OpenItem {
  index: number;
  id: unknown;
  type: unknown;
  /** Text by part; set while the part is open. */
  parts: { text: string; state: "open" | "text-done" | "done"; kind: unknown }[];
  text: string;
  textDone: boolean;
}

class ItemMachine {
  readonly done: Item[] = [];
  open: OpenItem | undefined;

  take(event: WireEvent): void {
    if (event.type === "response.output_item.added") return this.#add(event);
    const open = this.open;
    if (!open) throw new Error(`${event.type} outside an item`);
    assert.equal(event.output_index, open.index, event.type);
    if (event.type === "response.output_item.done") return this.#finish(event, open);
    assert.equal(event.item_id, open.id, event.type);
    const [, name, verb] = /^response\.(.+)\.(added|delta|done)$/.exec(event.type) ?? [];
    if (name === "output_text.annotation") return void this.#part(event, open, "open");
    switch (`${name} ${verb}`) {
      case "content_part added":
      case "reasoning_summary_part added":
        assert.equal(this.#index(event), open.parts.length);
        assert.ok(open.parts.every((part) => part.state === "done"), "two parts open");
        open.parts.push({ text: "", state: "open", kind: (event.part as Item).type });
        return;
      case "content_part done":
      case "reasoning_summary_part done": {
        const part = this.#part(event, open, "text-done");
        const given = event.part as Item;
        assert.equal(given.text ?? given.refusal, part.text);
        part.state = "done";
        return;
      }
    }
    if (name === "function_call_arguments" || name === "custom_tool_call_input") {
      assert.ok(!open.textDone);
      if (verb === "delta") open.text += String(event.delta);
      else assert.equal(event.arguments ?? event.input, open.text);
      open.textDone = verb === "done";
      return;
    }
    assert.match(String(name), /^(output_text|refusal|reasoning_summary_text)$/);
    const part = this.#part(event, open, "open");
    if (verb === "delta") part.text += String(event.delta);
    else assert.equal(event.text ?? event.refusal, part.text);
    if (verb === "done") part.state = "text-done";
  }

  #add(event: WireEvent): void {
    assert.equal(this.open, undefined, "two items open");
    assert.equal(event.output_index, this.done.length);
    const item = event.item as Item;
    assert.ok(item.id);
    if (item.type === "message") assert.deepEqual(item.content, []);
    if (item.type === "function_call") assert.equal(item.arguments, "");
    if (item.type === "reasoning") assert.deepEqual(item.summary, []);
    this.open = {
      index: this.done.length,
      id: item.id,
      type: item.type,
      parts: [],
      text: "",
      textDone: false,
    };
  }

  #finish(event: WireEvent, open: OpenItem): void {
    const item = event.item as Item;
    assert.equal(item.id, open.id);
    assert.equal(item.type, open.type);
    assert.notEqual(item.status, "in_progress");
    assert.ok(open.parts.every((part) => part.state === "done"));
    const texts = (item.content ?? item.summary ?? []) as Item[];
    if (open.parts.length > 0 || texts.length > 0) {
      assert.deepEqual(
        texts.map((part) => part.text ?? part.refusal),
        open.parts.map((part) => part.text),
      );
    }
    if (item.type === "function_call" || item.type === "custom_tool_call") {
      assert.ok(open.textDone);
      assert.equal(item.arguments ?? item.input, open.text);
    }
    this.done.push(item);
    this.open = undefined;
  }

  #index(event: WireEvent): unknown {
    return event.content_index ?? event.summary_index;
  }

  #part(event: WireEvent, open: OpenItem, state: string): OpenItem["parts"][number] {
    const part = open.parts[this.#index(event) as number];
    if (!part) throw new Error(`${event.type} without its part`);
    assert.equal(part.state, state, event.type);
    return part;
  }
}
