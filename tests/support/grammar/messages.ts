import {
  count,
  frames,
  has,
  hasOnly,
  isObject,
  type Json,
  json,
  list,
  must,
  object,
  text,
  words,
} from "./frames.ts";
import {
  type AnswerChoice,
  type AnswerContent,
  type AnswerUsage,
  newChoice,
} from "./answer_content.ts";

/**
 * Checks a messages stream against messages.md §3, §5 and §6, and returns what it says. Throws
 * GrammarError.
 */
export function checkMessagesStream(stream: string | Uint8Array): AnswerContent {
  const walk = new MessagesWalk();
  for (const { event, data } of frames(stream)) {
    const value = json(data);
    // The vendor's own client ignores events without this line.
    must(event !== undefined, "an event without its event: line");
    must(event === value.type, "event: line and type differ");
    walk.take(event, value);
  }
  return walk.end();
}

const errorTypes = [
  "invalid_request_error",
  "authentication_error",
  "billing_error",
  "permission_error",
  "not_found_error",
  "conflict_error",
  "request_too_large",
  "rate_limit_error",
  "api_error",
  "timeout_error",
  "overloaded_error",
];

type Finish = Exclude<AnswerChoice["finish"], undefined>;

const stopReasons: Readonly<Record<string, Finish>> = {
  end_turn: "stop",
  stop_sequence: "stop",
  pause_turn: "stop",
  tool_use: "tool_calls",
  max_tokens: "length",
  model_context_window_exceeded: "length",
  refusal: "content_filter",
};

const deltaTypes: Readonly<Record<string, readonly string[]>> = {
  text: ["text_delta", "citations_delta"],
  thinking: ["thinking_delta", "signature_delta"],
  tool_use: ["input_json_delta"],
  server_tool_use: ["input_json_delta"],
  mcp_tool_use: ["input_json_delta"],
  compaction: ["compaction_delta"],
};

interface OpenBlock {
  type: string;
  block: Json;
  said: string;
  cited: boolean;
  signed: boolean;
}

class MessagesWalk {
  readonly #said = newChoice();
  #start: Json | undefined;
  #next = 0;
  #open: OpenBlock | undefined;
  #end: Json | undefined;
  #stopped = false;
  #error: AnswerContent["error"];

  take(type: string, event: Json): void {
    must(!this.#stopped, "something follows message_stop");
    must(!this.#error, "something follows the error");
    if (type === "error") {
      this.#error = readError(event);
      return;
    }
    if (type !== "message_start") must(this.#start, `${type} before message_start`);
    switch (type) {
      case "message_start":
        return this.#begin(object(event.message, "message"));
      case "ping":
        return hasOnly(event, "ping", ["type"]);
      case "content_block_start":
        return this.#startBlock(event);
      case "content_block_delta":
        return this.#delta(event);
      case "content_block_stop":
        return this.#stopBlock(event);
      case "message_delta":
        return this.#finish(event);
      case "message_stop":
        must(this.#end, "message_stop without message_delta");
        this.#stopped = true;
        return;
    }
    must(false, `unknown event ${type}`);
  }

  end(): AnswerContent {
    if (!this.#error) {
      must(this.#stopped, "message_stop is missing");
      this.#checkCalls();
    }
    return {
      ending: this.#error ? "failed" : "finished",
      choices: this.#start ? [this.#said] : [],
      usage: this.#end && this.#start
        ? readUsage(object(this.#start.usage, "usage"), object(this.#end.usage, "usage"))
        : undefined,
      error: this.#error,
    };
  }

  #begin(message: Json): void {
    must(!this.#start, "a second message_start");
    has(message, "message", ["stop_reason", "stop_sequence", "stop_details", "container"]);
    has(message, "message", ["diagnostics"]);
    must(/^msg_./.test(text(message.id, "message.id")), "message.id doesn't begin with msg_");
    must(message.type === "message" && message.role === "assistant", "type or role is wrong");
    words(message.model, "message.model");
    must(list(message.content, "content").length === 0, "message_start carries content");
    for (const key of ["stop_reason", "stop_sequence", "stop_details"]) {
      must(message[key] === null, `${key} is set in message_start`);
    }
    const usage = object(message.usage, "usage");
    count(usage.input_tokens, "input_tokens");
    count(usage.output_tokens, "output_tokens");
    this.#start = message;
  }

  #startBlock(event: Json): void {
    must(!this.#end, "a block after message_delta");
    must(!this.#open, "a block starts while another is open");
    must(event.index === this.#next, `block index is not ${this.#next}`);
    this.#next++;
    const block = object(event.content_block, "content_block");
    const type = words(block.type, "content_block.type");
    this.#open = { type, block, said: "", cited: false, signed: false };
    if (type === "text") {
      must(block.text === "", "a text block starts with text");
      must(block.citations !== null, "citations is null");
    }
    if (type === "thinking") {
      must(block.thinking === "" && block.signature === "", "a thinking block starts filled");
    }
    if (type === "redacted_thinking") words(block.data, "data");
    if (type === "tool_use") this.#startCall(block);
  }

  #startCall(block: Json): void {
    const id = text(block.id, "tool_use.id");
    must(/^[a-zA-Z0-9_-]+$/.test(id), "tool_use.id has other characters");
    must(this.#said.calls.every((call) => call.id !== id), "two calls have one id");
    const name = text(block.name, "tool_use.name");
    must(/^[a-zA-Z0-9_-]{1,128}$/.test(name), "tool_use.name has other characters");
    const input = object(block.input, "tool_use.input");
    must(Object.keys(input).length === 0, "a call starts with its input");
    this.#said.calls.push({ id, name, input: "", custom: false });
  }

  #delta(event: Json): void {
    const open = this.#open;
    must(open && event.index === this.#next - 1, "a delta for a block that is not open");
    const delta = object(event.delta, "delta");
    const type = words(delta.type, "delta.type");
    must(deltaTypes[open.type]?.includes(type), `${type} in a ${open.type} block`);
    must(!open.signed, "a delta follows the signature");
    switch (type) {
      case "text_delta":
        open.said += words(delta.text, "delta.text");
        break;
      case "thinking_delta":
        open.said += words(delta.thinking, "delta.thinking");
        break;
      case "input_json_delta":
        open.said += text(delta.partial_json, "delta.partial_json");
        break;
      case "signature_delta":
        // Another vendor's thinking has an empty one.
        text(delta.signature, "delta.signature");
        open.signed = true;
        break;
      case "citations_delta":
        object(delta.citation, "delta.citation");
        open.cited = true;
    }
  }

  #stopBlock(event: Json): void {
    const open = this.#open;
    must(open && event.index === this.#next - 1, "a block stops that is not open");
    this.#open = undefined;
    if (open.type === "text") {
      must(open.said !== "" || open.cited, "an empty text block");
      this.#said.text += open.said;
    }
    if (open.type === "thinking") {
      must(open.said !== "" || open.signed, "an empty thinking block");
      this.#said.reasoning += open.said;
    }
    if (open.type === "tool_use") this.#said.calls.at(-1)!.input = open.said;
  }

  #finish(event: Json): void {
    must(!this.#open, "message_delta while a block is open");
    must(!this.#end, "a second message_delta");
    const delta = object(event.delta, "delta");
    this.#said.finish = finishOf(delta, this.#said);
    count(object(event.usage, "usage").output_tokens, "output_tokens");
    this.#end = event;
  }

  /** Checks that arguments are complete, unless the output limit or a filter cut the answer. */
  #checkCalls(): void {
    if (this.#said.finish !== "tool_calls") return;
    for (const { input } of this.#said.calls) {
      let value: unknown;
      try {
        value = JSON.parse(input === "" ? "{}" : input);
      } catch {
        must(false, "a call's input is not JSON");
      }
      must(isObject(value), "a call's input is no object");
    }
  }
}

/** Reads how an answer ended; the explanation of a refusal is stored in `said`. */
export function finishOf(told: Json, said: AnswerChoice): Finish {
  has(told, "the ending", ["stop_reason", "stop_sequence"]);
  const reason = text(told.stop_reason, "stop_reason");
  must(Object.hasOwn(stopReasons, reason), `unknown stop_reason ${reason}`);
  const isSequence = reason === "stop_sequence";
  must(isSequence === (typeof told.stop_sequence === "string"), "stop_sequence doesn't fit");
  const finish = stopReasons[reason]!;
  const called = said.calls.length > 0;
  must(finish !== "stop" || !called, `stop_reason ${reason} after tool_use`);
  must(finish !== "tool_calls" || called, "stop_reason tool_use without tool_use");
  const details = told.stop_details;
  must(!isObject(details) || finish === "content_filter", "stop_details without refusal");
  if (isObject(details)) said.refusal = String(details.explanation ?? "");
  return finish;
}

/** Reads the totals: counts at the end replace those at the start, unless null or absent. */
export function readUsage(start: Json, end: Json): AnswerUsage {
  const total = (key: string) => count(end[key] ?? start[key] ?? 0, key);
  const cacheRead = total("cache_read_input_tokens");
  const input = total("input_tokens") + cacheRead + total("cache_creation_input_tokens");
  return { input, cacheRead, output: total("output_tokens") };
}

function readError(event: Json): { code: string; message: string } {
  const error = object(event.error, "error");
  must(errorTypes.includes(text(error.type, "error.type")), `unknown error type ${error.type}`);
  return {
    code: words(error.code, "error.code"),
    message: words(error.message, "error.message"),
  };
}
