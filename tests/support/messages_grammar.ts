import assert from "@std/assert";
import { SseSplitter } from "../../src/base/sse.ts";

type Json = Record<string, unknown>;

/** The data of a stream's events, each of which must have the `event:` line of its type. */
export function readMessagesEvents(text: string): Json[] {
  const splitter = new SseSplitter({ maxEventBytes: 64 * 1024 * 1024 });
  const events = [...splitter.push(new TextEncoder().encode(text)), ...splitter.end()];
  return events.map((event) => {
    assert.ok(event.terminated, "an event lacks its blank line");
    const data: Json = JSON.parse(event.data ?? "null");
    assert.equal(event.event, data.type, "event line and type differ");
    return data;
  });
}

/**
 * Holds a messages stream to its grammar (protocols/messages.md §5) and gives its events. A stream
 * may end with one error event instead of its regular end.
 */
export function checkMessagesStream(text: string): Json[] {
  const events = readMessagesEvents(text);
  const failure = events.findIndex((event) => event.type === "error");
  assert.ok(failure < 0 || failure === events.length - 1, "something follows the error event");
  const regular = failure < 0 ? events : events.slice(0, failure);
  checkStart(regular[0], failure >= 0);
  const walk = new Walk();
  for (const event of regular.slice(1)) walk.take(event);
  if (failure < 0) walk.checkEnd();
  return events;
}

function checkStart(event: Json | undefined, mayBeMissing: boolean): void {
  if (event === undefined && mayBeMissing) return;
  if (event === undefined) return assert.fail("the stream is empty");
  assert.equal(event.type, "message_start");
  const message = event.message as Json;
  assert.deepEqual(message.content, []);
  assert.equal(message.stop_reason, null);
  assert.equal(message.role, "assistant");
  assert.match(String(message.id), /^msg_/);
  assert.equal(typeof (message.usage as Json).input_tokens, "number");
  assert.equal(typeof (message.usage as Json).output_tokens, "number");
}

const deltasOf: Readonly<Record<string, readonly string[]>> = {
  text: ["text_delta", "citations_delta"],
  thinking: ["thinking_delta", "signature_delta"],
  tool_use: ["input_json_delta"],
  server_tool_use: ["input_json_delta"],
};

class Walk {
  #next = 0;
  #open: { index: unknown; type: string; id: unknown; said: string } | undefined;
  #sealed = false;
  #tools: string[] = [];
  #ids = new Set<unknown>();
  #stopReason: unknown;
  #stopped = false;

  take(event: Json): void {
    assert.ok(!this.#stopped, "something follows message_stop");
    switch (event.type) {
      case "ping":
        return;
      case "content_block_start":
        return this.#start(event);
      case "content_block_delta":
        return this.#delta(event);
      case "content_block_stop":
        return this.#stop(event);
      case "message_delta": {
        assert.equal(this.#open, undefined, "message_delta while a block is open");
        this.#stopReason = (event.delta as Json).stop_reason;
        assert.equal(typeof (event.usage as Json).output_tokens, "number");
        return;
      }
      case "message_stop":
        assert.notEqual(this.#stopReason, undefined, "message_stop without message_delta");
        this.#stopped = true;
        return;
      default:
        assert.fail(`unexpected event ${event.type}`);
    }
  }

  checkEnd(): void {
    assert.ok(this.#stopped, "message_stop is missing");
    assert.equal(typeof this.#stopReason, "string");
    if (this.#stopReason === "max_tokens" || this.#stopReason === "refusal") return;
    assert.equal(this.#stopReason === "tool_use", this.#tools.length > 0);
    for (const input of this.#tools) assert.equal(typeof JSON.parse(input), "object");
  }

  #start(event: Json): void {
    assert.equal(this.#stopReason, undefined, "a block after message_delta");
    assert.equal(this.#open, undefined, "two blocks are open");
    assert.equal(event.index, this.#next++);
    const block = event.content_block as Json;
    const type = String(block.type);
    this.#open = { index: event.index, type, id: block.id, said: "" };
    this.#sealed = false;
    if (type !== "tool_use") return;
    assert.match(String(block.id), /^[a-zA-Z0-9_-]+$/);
    assert.ok(!this.#ids.has(block.id), "two calls have one id");
    this.#ids.add(block.id);
    assert.ok(String(block.name) !== "", "a call without a name");
    assert.deepEqual(block.input, {});
  }

  #delta(event: Json): void {
    assert.equal(event.index, this.#open?.index, "a delta for a block that is not open");
    const delta = event.delta as Json;
    const type = this.#open?.type ?? "";
    assert.ok(deltasOf[type]?.includes(String(delta.type)), `${delta.type} in a ${type} block`);
    assert.ok(!this.#sealed, "a delta after the signature");
    if (delta.type === "signature_delta") this.#sealed = true;
    if (this.#open) this.#open.said += delta.text ?? delta.thinking ?? delta.partial_json ?? "";
  }

  #stop(event: Json): void {
    assert.equal(event.index, this.#open?.index, "the wrong block stops");
    if (this.#open?.type === "text") assert.notEqual(this.#open.said, "", "an empty text block");
    if (this.#open?.type === "tool_use") this.#tools.push(this.#open.said);
    this.#open = undefined;
  }
}
