import { type Fault, unreadableAnswer } from "../../../shared/fault.ts";
import type { Usage } from "../../../shared/usage.ts";
import type {
  BlockEvent,
  CanonicalChoice,
  CanonicalEvent,
  StartEvent,
} from "../../kernel/canonical.ts";
import { Fold } from "../../kernel/fold.ts";
import { ShownUsage } from "../../kernel/shown_usage.ts";
import { sseComment } from "../../kernel/sse_comment.ts";
import type { AnswerContext, StreamEncoder } from "../../kernel/dialect.ts";
import { BlockQueue } from "./answer/block_queue.ts";
import { asSummary, writeEnding, writeMessage } from "./answer_encoder.ts";
import { sseEvent } from "./answer/block_writer.ts";
import { writeTotals, writeUsage } from "./usage.ts";
import { type ErrorCode, errors } from "../../../../contracts/kernel/errors.ts";
import { messagesDetails } from "../../../../contracts/kernel/error_bodies.ts";

export function createStreamEncoder(context: AnswerContext): StreamEncoder {
  return new MessagesStreamEncoder(context);
}

export const lastEvent = sseEvent({ type: "message_stop" });

/**
 * Writes one streamed answer: one `message_start`, blocks one after the other, then `message_delta`
 * and `message_stop`. The finish is held back until the end, since usage may follow it. Only the
 * first of several choices can be expressed.
 */
class MessagesStreamEncoder implements StreamEncoder {
  readonly #context: AnswerContext;
  readonly #blocks: BlockQueue;
  readonly #usage: ShownUsage;
  /** What was written of a summary, which is sent as one block at the end. */
  readonly #summary: Fold | undefined;
  #started = false;
  #finish: CanonicalChoice["finish"];
  #sawToolCall = false;
  #refusals = new Set<number>();
  #refusal = "";

  constructor(context: AnswerContext) {
    this.#context = context;
    this.#usage = new ShownUsage(context.inputTokens);
    this.#summary = context.request.asksForSummary ? new Fold(Number.MAX_SAFE_INTEGER) : undefined;
    this.#blocks = new BlockQueue({
      showsReasoning: context.request.reasoning?.show !== false,
    });
  }

  encode(event: CanonicalEvent): string {
    this.#usage.listen(event);
    this.#summary?.add(event);
    switch (event.type) {
      case "start":
        return this.#start(event);
      case "finish":
        if (event.choice === 0) this.#finish ??= event;
        return "";
      case "usage":
      case "own":
      case "error":
        return "";
      default:
        return event.choice === 0 && !this.#summary ? this.#block(event) : "";
    }
  }

  end(): string {
    const usage = this.#usage.final;
    const summary = this.#summary ? this.#writeSummary(this.#summary) : "";
    return this.#start(undefined) + summary + this.#blocks.end() +
      sseEvent({
        type: "message_delta",
        delta: {
          ...writeEnding(this.#finish, this.#refusal, this.#sawToolCall),
          container: null,
        },
        usage: { ...writeTotals(usage), ...lifetimes(usage) },
      }) + lastEvent;
  }

  fail(fault: Fault): string {
    return errorFrame(fault);
  }

  keepAlive(): string {
    // Before `message_start` no event may be sent.
    return this.#started ? sseEvent({ type: "ping" }) : sseComment;
  }

  #start(event: StartEvent | undefined): string {
    if (this.#started) return "";
    this.#started = true;
    const message = writeMessage(undefined, {
      id: this.#context.id("msg_"),
      model: this.#context.shownModel ?? event?.model ?? this.#context.model,
      usage: { input: this.#context.inputTokens, output: 0 },
      showsReasoning: true,
    });
    return sseEvent({ type: "message_start", message });
  }

  #writeSummary(gathered: Fold): string {
    const answer = gathered.answer();
    if (answer.truncated) throw unreadableAnswer("summary is larger than the cap");
    const written = answer.choices.find(({ index }) => index === 0);
    const { parts: [block], finish } = asSummary(written, this.#context.request);
    this.#finish = finish;
    return this.#blocks.take({ type: "block-start", choice: 0, block: 0, content: block! });
  }

  #block(event: BlockEvent): string {
    if (event.type === "block-start") {
      if (event.content.kind === "tool-call") this.#sawToolCall = true;
      if (event.content.kind === "refusal") this.#refusals.add(event.block);
    }
    if (this.#refusals.has(event.block)) {
      // A refusal is reported at the end, outside of the content.
      if (event.type === "block-delta") this.#refusal += event.text;
      return "";
    }
    const text = this.#blocks.take(event);
    return text === "" ? "" : this.#start(undefined) + text;
  }
}

/**
 * Returns the written cache tokens by lifetime. The published type lacks this split at the end of a
 * stream; clients ignore it.
 */
function lifetimes(usage: Usage): Record<string, unknown> {
  return usage.cacheWriteLong === undefined
    ? {}
    : { cache_creation: writeUsage(usage).cache_creation };
}

/** Ends a stream with the dialect's own error event; nothing follows it. */
export function errorFrame(fault: Fault): string {
  const error = {
    type: errorType(fault.code),
    message: fault.message,
    code: fault.code,
    details: messagesDetails(fault.code, fault.vendorDetails),
  };
  return sseEvent({ type: "error", error, request_id: null });
}

/** Returns the dialect's error type; its list of types is closed. */
function errorType(code: ErrorCode): string {
  if (code === "request_too_large") return "request_too_large";
  const { type } = errors[code];
  return type === "upstream_error" ? "api_error" : type;
}
