import {
  count,
  frames,
  has,
  hasOnly,
  type Json,
  json,
  list,
  must,
  object,
  text,
  words,
} from "./frames.ts";
import {
  type AnswerCall,
  type AnswerChoice,
  type AnswerContent,
  type AnswerUsage,
  newChoice,
} from "./answer_content.ts";

/**
 * Checks a chat stream against chat-completions.md §4.3 and §5.1, and returns what it says. `usage`
 * tells whether the caller asked for usage (`stream_options.include_usage`). Throws GrammarError.
 */
export function checkChatStream(
  stream: string | Uint8Array,
  asked: { usage: boolean },
): AnswerContent {
  const walk = new ChatWalk(asked.usage);
  for (const { event, data } of frames(stream)) {
    must(event === undefined, "an event: line in a chat stream");
    walk.take(data);
  }
  return walk.end();
}

const finishReasons = ["stop", "length", "tool_calls", "content_filter"] as const;

const deltaKeys = [
  "role",
  "content",
  "refusal",
  "reasoning_content",
  "tool_calls",
  "annotations",
  "images",
  "audio",
];

class ChatWalk {
  readonly #asksUsage: boolean;
  #head: string | undefined;
  #done = false;
  #error: AnswerContent["error"];
  #usage: AnswerUsage | undefined;
  readonly #choices: AnswerChoice[] = [];

  constructor(asksUsage: boolean) {
    this.#asksUsage = asksUsage;
  }

  take(data: string): void {
    must(!this.#done, "something follows [DONE]");
    must(!this.#error, "something follows the error");
    if (data === "[DONE]") {
      this.#done = true;
      return;
    }
    const chunk = json(data);
    if ("error" in chunk) this.#error = readError(chunk);
    else this.#chunk(chunk);
  }

  end(): AnswerContent {
    if (!this.#error) {
      must(this.#done, "[DONE] is missing");
      must(this.#choices.length > 0, "no choice at all");
      for (const choice of this.#choices) must(choice?.finish, "a choice without finish_reason");
      must(!this.#asksUsage || this.#usage, "the usage chunk is missing");
    }
    return {
      ending: this.#error ? "failed" : "finished",
      choices: this.#choices,
      usage: this.#usage,
      error: this.#error,
    };
  }

  #chunk(chunk: Json): void {
    hasOnly(chunk, "chunk", ["id", "object", "created", "model", "choices", "usage"]);
    must(chunk.object === "chat.completion.chunk", "object is not chat.completion.chunk");
    const head = JSON.stringify([
      words(chunk.id, "id"),
      count(chunk.created, "created"),
      words(chunk.model, "model"),
    ]);
    this.#head ??= head;
    must(head === this.#head, "id, created or model changed");
    must(!this.#usage, "a chunk follows the usage chunk");
    const choices = list(chunk.choices, "choices");
    if (!this.#asksUsage) must(!("usage" in chunk), "usage that the caller didn't ask for");
    else if (choices.length > 0) must(chunk.usage === null, "usage is not null before its chunk");
    if (choices.length === 0) this.#usageChunk(chunk);
    for (const choice of choices) this.#choice(object(choice, "choice"));
  }

  #usageChunk(chunk: Json): void {
    must(this.#asksUsage, "a chunk without choices");
    must(this.#choices.length > 0, "the usage chunk comes before any choice");
    for (const choice of this.#choices) {
      must(choice?.finish, "the usage chunk comes before a finish");
    }
    this.#usage = readUsage(object(chunk.usage, "usage"));
  }

  #choice(choice: Json): void {
    has(choice, "choice", ["index", "delta", "logprobs", "finish_reason"]);
    const index = count(choice.index, "choice.index");
    const delta = object(choice.delta, "delta");
    hasOnly(delta, "delta", deltaKeys);
    let said = this.#choices[index];
    if (!said) {
      must(delta.role === "assistant", "a choice doesn't begin with its role");
      said = newChoice();
      this.#choices[index] = said;
    } else {
      must(!("role" in delta), "the role comes twice");
      must(!said.finish, "a chunk follows the finish of its choice");
      const isEmpty = Object.keys(delta).length === 0 && choice.finish_reason === null;
      must(!isEmpty || choice.logprobs !== null, "a chunk says nothing");
    }
    const isRole = "role" in delta;
    said.text += piece(delta, "content", isRole);
    said.refusal += piece(delta, "refusal", isRole);
    said.reasoning += piece(delta, "reasoning_content", false);
    if ("tool_calls" in delta) readCalls(list(delta.tool_calls, "tool_calls"), said.calls);
    checkLogprobs(choice.logprobs);
    if (choice.finish_reason !== null) this.#finish(choice.finish_reason, said);
  }

  #finish(reason: unknown, said: AnswerChoice): void {
    const finish = finishReasons.find((one) => one === reason);
    must(finish, `finish_reason ${JSON.stringify(reason)} is not one of the four`);
    const called = said.calls.length > 0;
    must(finish !== "stop" || !called, "finish_reason stop after tool calls");
    must(finish !== "tool_calls" || called, "finish_reason tool_calls without tool calls");
    for (const call of said.calls) {
      const isOver = finish !== "tool_calls" || call.custom || call.input !== "";
      must(isOver, "a call without arguments has empty text");
    }
    said.finish = finish;
  }
}

/** Reads a piece of text; only the chunk with the role may have an empty one or null. */
function piece(delta: Json, key: string, mayBeEmpty: boolean): string {
  if (!Object.hasOwn(delta, key)) return "";
  if (mayBeEmpty) return delta[key] === null ? "" : text(delta[key], key);
  return words(delta[key], key);
}

function readCalls(entries: readonly unknown[], calls: AnswerCall[]): void {
  must(entries.length > 0, "tool_calls is empty");
  for (const one of entries) {
    const entry = object(one, "tool call");
    const index = count(entry.index, "tool call index");
    const call = calls[index];
    if (call) readFragment(entry, call);
    else calls.push(openCall(entry, index, calls));
  }
}

function openCall(entry: Json, index: number, calls: readonly AnswerCall[]): AnswerCall {
  hasOnly(entry, "tool call", ["index", "id", "type", "function", "custom"]);
  must(index === calls.length, `tool call ${index} opens out of order`);
  const id = words(entry.id, "tool call id");
  must(calls.every((call) => call.id !== id), "two tool calls have one id");
  must(entry.type === "function" || entry.type === "custom", "a tool call of unknown type");
  const custom = entry.type === "custom";
  const body = object(entry[entry.type], entry.type);
  const input = text(custom ? body.input : body.arguments, "the call's input");
  return { id, name: words(body.name, "tool name"), input, custom };
}

function readFragment(entry: Json, call: AnswerCall): void {
  hasOnly(entry, "fragment", ["index", call.custom ? "custom" : "function"]);
  const key = call.custom ? "input" : "arguments";
  const body = object(call.custom ? entry.custom : entry.function, "fragment");
  hasOnly(body, "fragment", [key]);
  call.input += words(body[key], "a fragment of a call");
}

function checkLogprobs(logprobs: unknown): void {
  if (logprobs === null) return;
  for (const one of list(object(logprobs, "logprobs").content, "logprobs.content")) {
    const entry = object(one, "logprob");
    has(entry, "logprob", ["token", "logprob", "bytes", "top_logprobs"]);
    list(entry.top_logprobs, "top_logprobs");
  }
}

/** Reads a usage object (§4.2), whose totals must add up. */
export function readUsage(usage: Json): AnswerUsage {
  const input = count(usage.prompt_tokens, "prompt_tokens");
  const output = count(usage.completion_tokens, "completion_tokens");
  must(usage.total_tokens === input + output, "total_tokens is not the sum");
  const details = usage.prompt_tokens_details;
  const cached = details === undefined ? undefined : object(details, "details").cached_tokens;
  const cacheRead = cached === undefined ? 0 : count(cached, "cached_tokens");
  must(cacheRead <= input, "more cached tokens than prompt tokens");
  return { input, cacheRead, output };
}

function readError(chunk: Json): { code: string; message: string } {
  hasOnly(chunk, "error event", ["error"]);
  const error = object(chunk.error, "error");
  has(error, "error", ["message", "type", "code", "param"]);
  words(error.type, "error.type");
  if (error.param !== null) words(error.param, "error.param");
  return {
    code: words(error.code, "error.code"),
    message: words(error.message, "error.message"),
  };
}
