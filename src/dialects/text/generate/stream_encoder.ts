import { pushAll } from "../../../base/lists.ts";
import { type Fault, unreadableAnswer } from "../../../shared/fault.ts";
import { ArgumentNames, maxArgumentNames } from "../../kernel/argument_names.ts";
import type {
  AnswerPart,
  BlockDeltaEvent,
  BlockKind,
  CanonicalEvent,
  Citation,
  FinishEvent,
  TokenLogprob,
} from "../../kernel/canonical.ts";
import type { Opaque } from "../../kernel/canonical_request.ts";
import { ShownUsage } from "../../kernel/shown_usage.ts";
import type { AnswerContext, StreamEncoder } from "../../kernel/dialect.ts";
import {
  bareEnumText,
  endingOf,
  moveCitation,
  searchQueries,
  wantsBareEnum,
} from "./answer_encoder.ts";
import { answerPart, isInvalidCall } from "./answer/encode_parts.ts";
import { ArrayFraming, failedStream, type Framing, sseFraming } from "./answer/framing.ts";
import { writeGrounding } from "./answer/grounding.ts";
import { LastPart } from "./answer/last_part.ts";
import { writeLogprobs } from "./answer/logprobs.ts";
import { writeUsage } from "./usage.ts";

interface OpenBlock {
  choice: number;
  content: BlockKind;
  pieces: string[];
  citations: Citation[];
}

interface ChoiceState {
  parts: BlockKind[];
  /** Texts that have ended, and their sources, whose offsets refer to all of these texts joined. */
  endedTexts: string[];
  endedLength: number;
  citations: Citation[];
  sawInvalidCall: boolean;
  finish: FinishEvent | undefined;
  readonly last: LastPart;
  /** Log-probabilities to write in the next element. */
  logprobs: TokenLogprob[];
}

/** Ends a stream of server-sent events with an error. */
export function errorFrame(fault: Fault): string {
  return failedStream(sseFraming, fault);
}

export function createStreamEncoder(context: AnswerContext): StreamEncoder {
  return new GenerateStreamEncoder(context);
}

/**
 * Writes one streamed answer: text at once, calls and media whole when their block ends, the finish
 * and the final usage in the single last element, together with the last part.
 */
class GenerateStreamEncoder implements StreamEncoder {
  readonly contentType: string;
  readonly #framing: Framing;
  readonly #bareEnum: boolean;
  readonly #blocks = new Map<number, OpenBlock>();
  readonly #choices = new Map<number, ChoiceState>();
  readonly #names = new ArgumentNames();
  /** Members that every element repeats. */
  #head: Record<string, unknown>;
  readonly #usage: ShownUsage;

  constructor(context: AnswerContext) {
    this.#framing = context.jsonArray ? new ArrayFraming() : sseFraming;
    this.contentType = context.jsonArray ? "application/json" : "text/event-stream";
    this.#bareEnum = wantsBareEnum(context.body);
    this.#usage = new ShownUsage(context.inputTokens);
    this.#head = {
      modelVersion: context.model,
      createTime: isoTime(context.created),
      responseId: context.id(""),
    };
  }

  encode(event: CanonicalEvent): string {
    this.#usage.listen(event);
    switch (event.type) {
      case "start":
        this.#head = {
          ...this.#head,
          ...(event.model === undefined ? {} : { modelVersion: event.model }),
          ...(event.created === undefined ? {} : { createTime: isoTime(event.created) }),
        };
        return "";
      case "block-start":
        this.#choice(event.choice).parts.push(event.content);
        this.#blocks.set(event.block, {
          choice: event.choice,
          content: event.content,
          pieces: [],
          citations: [],
        });
        return "";
      case "block-delta":
        return this.#delta(event);
      case "citation":
        this.#blocks.get(event.block)?.citations.push(event.citation);
        return "";
      case "block-end":
        return this.#end(event.block, event.opaque);
      case "finish":
        this.#choice(event.choice).finish = event;
        return "";
      case "usage":
      case "own":
        return "";
      case "error":
        // The gateway ends the stream with `fail`.
        return "";
    }
  }

  end(): string {
    const candidates = [...this.#choices].sort(([a], [b]) => a - b).map(([index, choice]) => {
      const finishReason = endingOf(choice, choice.sawInvalidCall);
      return {
        ...candidateOf(index, choice, choice.last.take()),
        ...(finishReason === undefined ? {} : { finishReason }),
        ...writeGrounding(
          choice.citations,
          choice.endedTexts.join(""),
          searchQueries(choice.parts),
        ),
      };
    });
    const usageMetadata = writeUsage(this.#usage.final);
    return this.#element({ candidates, usageMetadata }) + this.#framing.close();
  }

  fail(fault: Fault): string {
    const left = [...this.#choices].map(([index, choice]) =>
      this.#partsElement(index, choice.last.take())
    );
    return left.join("") + failedStream(this.#framing, fault);
  }

  keepAlive(): string {
    return this.#framing.nothing;
  }

  #delta(event: BlockDeltaEvent): string {
    const open = this.#blocks.get(event.block);
    if (!open) return "";
    open.pieces.push(event.text);
    if (!this.#goesOutAtOnce(open.content)) return "";
    const part = answerPart({ ...open.content, text: event.text });
    const choice = this.#choice(open.choice);
    if (!event.logprobs) return part ? this.#elements(open.choice, choice.last.add(part)) : "";
    // Log-probabilities go into the same element as their tokens.
    const before = part ? this.#elements(open.choice, choice.last.addWhole(part)) : "";
    pushAll(choice.logprobs, event.logprobs);
    return before;
  }

  #end(block: number, opaque: Opaque | undefined): string {
    const open = this.#blocks.get(block);
    if (!open) return "";
    this.#blocks.delete(block);
    const whole: AnswerPart = { ...open.content, text: open.pieces.join("") };
    const choice = this.#choice(open.choice);
    if (this.#goesOutAtOnce(open.content)) {
      if (open.content.kind === "text") this.#keepSources(open, whole.text);
      // The text has been sent; only its signature remains.
      const rest = opaque && answerPart({ ...open.content, text: "", opaque });
      return rest ? this.#elements(open.choice, choice.last.add(rest)) : "";
    }
    if (whole.kind === "tool-call" && !this.#names.add(whole.text)) {
      throw unreadableAnswer(`a stream whose calls have more than ${maxArgumentNames} names`);
    }
    if (isInvalidCall(whole)) choice.sawInvalidCall = true;
    const text = open.content.kind === "text" ? bareEnumText(whole.text) : whole.text;
    const part = answerPart({ ...whole, text, ...(opaque ? { opaque } : {}) });
    return part ? this.#elements(open.choice, choice.last.add(part)) : "";
  }

  /** Keeps a block's sources until the end, since their offsets refer to all texts. */
  #keepSources(open: OpenBlock, text: string): void {
    const choice = this.#choice(open.choice);
    for (const citation of open.citations) {
      choice.citations.push(moveCitation(citation, choice.endedLength));
    }
    choice.endedTexts.push(text);
    choice.endedLength += text.length;
  }

  #goesOutAtOnce(content: BlockKind): boolean {
    if (content.kind === "text") return !this.#bareEnum;
    return content.kind === "reasoning" || content.kind === "refusal";
  }

  #elements(index: number, elements: readonly Record<string, unknown>[][]): string {
    return elements.map((parts) => this.#partsElement(index, parts)).join("");
  }

  /** Writes an element with these parts of a candidate; nothing without parts. */
  #partsElement(index: number, parts: readonly Record<string, unknown>[]): string {
    if (parts.length === 0) return "";
    const candidates = [candidateOf(index, this.#choice(index), parts)];
    // Some clients ignore an element without usage. It is empty, since others subtract it from the
    // usage of the last element.
    return this.#element({ candidates, usageMetadata: {} });
  }

  #element(members: Record<string, unknown>): string {
    return this.#framing.element(JSON.stringify({ ...members, ...this.#head }));
  }

  #choice(index: number): ChoiceState {
    let choice = this.#choices.get(index);
    if (!choice) {
      choice = {
        parts: [],
        endedTexts: [],
        endedLength: 0,
        citations: [],
        sawInvalidCall: false,
        finish: undefined,
        last: new LastPart(),
        logprobs: [],
      };
      this.#choices.set(index, choice);
    }
    return choice;
  }
}

function candidateOf(
  index: number,
  choice: ChoiceState,
  parts: readonly Record<string, unknown>[],
): Record<string, unknown> {
  const { logprobs } = choice;
  choice.logprobs = [];
  return {
    content: { role: "model", parts },
    index,
    ...(logprobs.length > 0 ? { logprobsResult: writeLogprobs(logprobs) } : {}),
  };
}

function isoTime(unixSeconds: number): string {
  return new Date(unixSeconds * 1000).toISOString();
}
