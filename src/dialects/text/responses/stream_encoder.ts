import { type Fault, unreadableAnswer } from "../../../shared/fault.ts";
import type { FinishReason } from "../../../shared/interaction.ts";
import type { CanonicalEvent } from "../../kernel/canonical.ts";
import { ShownUsage } from "../../kernel/shown_usage.ts";
import { sseComment } from "../../kernel/sse_comment.ts";
import type { AnswerContext, BegunStream, StreamEncoder } from "../../kernel/dialect.ts";
import { Fold } from "../../kernel/fold.ts";
import { requireSummary } from "../../kernel/summary.ts";
import { blockEvents } from "./answer_encoder.ts";
import { writeFailure } from "./answer/failure.ts";
import { writeFinishReason } from "./finish_reason.ts";
import { OutputWriter } from "./answer/output_writer.ts";
import {
  type EchoedSettings,
  echoedSettings,
  responseObject,
  type ResponseState,
} from "./answer/response_object.ts";
import { sealFor } from "./conversation/envelope.ts";

export function createStreamEncoder(context: AnswerContext): StreamEncoder {
  return new ResponsesStreamEncoder(context);
}

/**
 * Four events repeat the log-probabilities of the deltas, each in one step, and the last of these
 * has those of all texts.
 */
const maxRepeatedLogprobs = 50_000;

/**
 * Writes a streamed answer: the events of the response around those of its items, numbered without
 * gaps, under one response id.
 */
class ResponsesStreamEncoder implements StreamEncoder {
  readonly #context: AnswerContext;
  readonly #settings: EchoedSettings;
  readonly #id: string;
  readonly #writer: OutputWriter;
  readonly #usage: ShownUsage;
  /** The answer so far, if it is to become a single item, a summary. */
  readonly #summary: Fold | undefined;
  #frames: string[] = [];
  #sequence = 0;
  #opened = false;
  #model: string;
  #finish: FinishReason | undefined;

  constructor(context: AnswerContext) {
    this.#context = context;
    this.#settings = echoedSettings(context.body);
    this.#id = context.id("resp_");
    this.#model = context.model;
    this.#usage = new ShownUsage(context.inputTokens);
    this.#summary = context.request.asksForSummary ? new Fold(Number.MAX_SAFE_INTEGER) : undefined;
    this.#writer = new OutputWriter(
      context.id,
      (type, fields) => this.#push(type, fields),
      {
        namespaces: context.request.namespaces,
        seal: sealFor(context.body),
        maxLogprobs: maxRepeatedLogprobs,
      },
    );
  }

  encode(event: CanonicalEvent): string {
    this.#usage.listen(event);
    this.#summary?.add(event);
    switch (event.type) {
      case "start":
        this.#model = event.model ?? this.#model;
        this.#open();
        break;
      case "finish":
        this.#open();
        if (event.choice === 0) this.#end(event.reason);
        break;
      case "usage":
      case "own":
        break;
      case "error":
        // The gateway calls `fail` next, with the fault to show.
        break;
      default:
        this.#open();
        if (!this.#summary) this.#writer.add(event);
    }
    return this.#flush();
  }

  end(): string {
    this.#open();
    if (this.#summary) this.#writeSummary(this.#summary);
    this.#end(this.#finish);
    const { status } = writeFinishReason(this.#finish);
    this.#writer.requireContent(status);
    this.#pushLifecycle(status, { type: "ended", reason: this.#finish });
    return this.#flush();
  }

  /**
   * Ends a failed stream as the vendor does, with `error` and `response.failed`: clients throw at
   * the first, or read the second.
   */
  fail(fault: Fault): string {
    if (!this.#opened) return errorEvent(fault, 0);
    this.#writer.abandon();
    this.#frames.push(errorEvent(fault, this.#sequence++));
    this.#pushLifecycle("failed", { type: "failed", error: writeFailure(fault) });
    return this.#flush();
  }

  keepAlive(): string {
    return sseComment;
  }

  #writeSummary(gathered: Fold): void {
    const answer = gathered.answer();
    if (answer.truncated) throw unreadableAnswer("summary is larger than the cap");
    requireSummary(answer);
    const choice = answer.choices.find(({ index }) => index === 0);
    for (const event of blockEvents(choice, true, this.#context.id)) this.#writer.add(event);
  }

  /** Ends the open items, which were cut short if the answer was. */
  #end(reason: FinishReason | undefined): void {
    this.#finish = reason;
    this.#writer.close(writeFinishReason(reason).status);
  }

  #open(): void {
    if (this.#opened) return;
    this.#opened = true;
    this.#pushLifecycle("created", { type: "in_progress" });
    this.#pushLifecycle("in_progress", { type: "in_progress" });
  }

  #pushLifecycle(event: string, stage: ResponseState["stage"]): void {
    const response = responseObject(this.#settings, {
      id: this.#id,
      created: this.#context.created,
      completed: stage.type === "ended" ? this.#context.now?.() : undefined,
      model: this.#model,
      stage,
      output: this.#writer.items,
      usage: stage.type === "ended" ? this.#usage.final : this.#usage.reported,
    });
    this.#push(`response.${event}`, { response });
  }

  #push(type: string, fields: Record<string, unknown>): void {
    const data = JSON.stringify({ type, ...fields, sequence_number: this.#sequence++ });
    this.#frames.push(`event: ${type}\ndata: ${data}\n\n`);
  }

  #flush(): string {
    const text = this.#frames.join("");
    this.#frames = [];
    return text;
  }
}

/**
 * Ends a vendor's stream: with `error` and `response.failed` as above, or with the first alone where
 * the stream didn't begin with its response.
 */
export function errorFrame(fault: Fault, begun?: BegunStream): string {
  const { body, start, nextSequence = 0 } = begun ?? {};
  const error = errorEvent(fault, nextSequence);
  if (start?.id === undefined) return error;
  const response = responseObject(echoedSettings(body), {
    ...{ id: start.id, created: start.created ?? 0, completed: undefined },
    ...{ model: start.model ?? "", stage: { type: "failed", error: writeFailure(fault) } },
    ...{ output: [], usage: undefined },
  });
  return error + written("response.failed", { response, sequence_number: nextSequence + 1 });
}

/** Writes an `error` event: flat as in the schema, and nested as it occurs in practice. */
function errorEvent(fault: Fault, sequence_number: number): string {
  const { code, message, param = null } = fault;
  const error = writeFailure(fault);
  return written("error", { code, message, param, error, sequence_number });
}

function written(type: string, fields: Record<string, unknown>): string {
  return `event: ${type}\ndata: ${JSON.stringify({ type, ...fields })}\n\n`;
}
