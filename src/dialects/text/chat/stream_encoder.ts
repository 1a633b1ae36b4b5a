import type { Fault } from "../../../shared/fault.ts";
import type {
  BlockDeltaEvent,
  BlockEndEvent,
  BlockKind,
  BlockStartEvent,
  CanonicalEvent,
  CitationEvent,
  TokenLogprob,
} from "../../kernel/canonical.ts";
import { ShownUsage } from "../../kernel/shown_usage.ts";
import { sseComment } from "../../kernel/sse_comment.ts";
import { TextUnits } from "../../kernel/text_units.ts";
import type { AnswerContext, StreamEncoder } from "../../kernel/dialect.ts";
import { writeAnnotation } from "./answer/extras.ts";
import { asksOldShape, oldFinish } from "./answer/old_shape.ts";
import { writeLogprobs } from "./answer_encoder.ts";
import { errors } from "../../../../contracts/kernel/errors.ts";
import { writeUsage } from "./usage.ts";
import { dataUrl } from "../../kernel/media_source.ts";

interface OpenBlock {
  content: BlockKind;
  toolIndex: number;
  empty: boolean;
  /** Pieces of media, sent in one chunk when the block ends. */
  pieces: string[];
  /** Offset of its text within the choice, in UTF-16 units. */
  from: number;
}

interface Choice {
  tools: number;
  units: TextUnits;
  /** Sources and pictures that have yet to be sent. */
  annotations: Record<string, unknown>[];
  images: Record<string, unknown>[];
}

/** Sources and pictures beyond this limit are not held back until their choice ends. */
const maxHeldUnits = 32 * 1024 * 1024;
/** Approximate length of a source apart from its texts. */
const sourceUnits = 200;

export function createStreamEncoder(context: AnswerContext): StreamEncoder {
  return new ChatStreamEncoder(context);
}

class ChatStreamEncoder implements StreamEncoder {
  readonly #context: AnswerContext;
  readonly #id: string;
  #model: string;
  readonly #blocks = new Map<number, OpenBlock>();
  /** The choices whose role chunk has been sent. */
  readonly #choices = new Map<number, Choice>();
  readonly #usage: ShownUsage;
  /** The text that every chunk begins with, for this model. */
  #head: { model: string; text: string } | undefined;
  readonly #isOldShape: boolean;
  /** UTF-16 units that have been held back since everything was last sent. */
  #heldUnits = 0;

  constructor(context: AnswerContext) {
    this.#context = context;
    this.#isOldShape = asksOldShape(context.body);
    this.#id = context.id("chatcmpl-");
    this.#model = context.model;
    this.#usage = new ShownUsage(context.inputTokens);
  }

  encode(event: CanonicalEvent): string {
    this.#usage.listen(event);
    switch (event.type) {
      case "start":
        this.#model = event.model ?? this.#model;
        return "";
      case "block-start":
        return this.#startBlock(event);
      case "block-delta":
        return this.#delta(event);
      case "block-end":
        return this.#endBlock(event);
      case "finish":
        return this.#role(event.choice) + this.#sendHeld(event.choice) +
          this.#chunk(event.choice, {}, {
            finish_reason: this.#isOldShape ? oldFinish(event.reason) : event.reason,
          });
      case "citation":
        return this.#cite(event);
      case "usage":
      case "own":
      case "error":
        return "";
    }
  }

  end(): string {
    const held = this.#sendAllHeld();
    // A caller that asked for usage gets it, estimated if the vendor reported none.
    const last = this.#context.showUsage
      ? this.#frame({ choices: [], usage: writeUsage(this.#usage.final) })
      : "";
    return held + last + "data: [DONE]\n\n";
  }

  fail(fault: Fault): string {
    return this.#sendAllHeld() + errorFrame(fault);
  }

  keepAlive(): string {
    return sseComment;
  }

  #cite({ choice, block, citation }: CitationEvent): string {
    const role = this.#role(choice);
    const state = this.#choices.get(choice)!;
    const from = this.#blocks.get(block)?.from ?? 0;
    state.annotations.push(writeAnnotation(citation, state.units, from));
    const { url, title = "" } = citation;
    return role + this.#held(sourceUnits + url.length + title.length);
  }

  /**
   * Counts what is held back, and sends it all if it exceeds the limit. Sources and pictures wait
   * for the end of their choice: official clients refuse a second list of them, or overwrite the
   * first with it.
   */
  #held(units: number): string {
    this.#heldUnits += units;
    return this.#heldUnits > maxHeldUnits ? this.#sendAllHeld() : "";
  }

  #sendHeld(choice: number): string {
    const state = this.#choices.get(choice)!;
    const { annotations, images } = state;
    if (annotations.length === 0 && images.length === 0) return "";
    state.annotations = [];
    state.images = [];
    return this.#chunk(choice, {
      ...(annotations.length > 0 ? { annotations } : {}),
      ...(images.length > 0 ? { images } : {}),
    });
  }

  /**
   * Sends everything that is held back, including what is left of choices that never ended, and
   * what came after their end.
   */
  #sendAllHeld(): string {
    this.#heldUnits = 0;
    return [...this.#choices.keys()].map((choice) => this.#sendHeld(choice)).join("");
  }

  #startBlock({ choice, block, content }: BlockStartEvent): string {
    const role = this.#role(choice);
    const state = this.#choices.get(choice)!;
    const isTool = content.kind === "tool-call";
    const toolIndex = isTool ? state.tools++ : -1;
    const from = state.units.length;
    this.#blocks.set(block, { content, toolIndex, empty: true, pieces: [], from });
    if (!isTool) return role;
    const opener = content.custom
      ? { custom: { name: content.name, input: "" } }
      : { function: { name: content.name, arguments: "" } };
    const type = content.custom ? "custom" : "function";
    return role + this.#call(choice, toolIndex, { id: content.id, type, ...opener });
  }

  /** A piece of a call; the old shape has no room for an index or an id. */
  #call(choice: number, index: number, call: Record<string, unknown>): string {
    if (!this.#isOldShape) return this.#chunk(choice, { tool_calls: [{ index, ...call }] });
    return index === 0 ? this.#chunk(choice, { function_call: call.function }) : "";
  }

  #delta({ choice, block, text, logprobs }: BlockDeltaEvent): string {
    const open = this.#blocks.get(block);
    if (!open || (text === "" && !logprobs)) return "";
    open.empty = false;
    switch (open.content.kind) {
      case "text":
        this.#choices.get(choice)?.units.add(text);
        if (!logprobs) return this.#textChunk(choice, text);
        return this.#chunk(choice, { content: text }, { logprobs });
      case "reasoning":
        return this.#chunk(choice, { reasoning_content: text });
      case "refusal":
        return this.#chunk(choice, { refusal: text });
      case "tool-call":
        return this.#toolDelta(choice, open, text);
      case "media":
        open.pieces.push(text);
        return "";
      case "vendor":
        return "";
    }
  }

  #endBlock({ choice, block }: BlockEndEvent): string {
    const open = this.#blocks.get(block);
    this.#blocks.delete(block);
    if (open?.content.kind === "tool-call" && !open.content.custom && open.empty) {
      // A call without arguments gets an empty object; clients fail to parse an empty text.
      return this.#toolDelta(choice, open, "{}");
    }
    if (open?.content.kind === "media") return this.#media(choice, open.content, open.pieces);
    return "";
  }

  #toolDelta(choice: number, open: OpenBlock, text: string): string {
    const custom = open.content.kind === "tool-call" && open.content.custom;
    const body = custom ? { custom: { input: text } } : { function: { arguments: text } };
    return this.#call(choice, open.toolIndex, body);
  }

  #media(
    choice: number,
    content: BlockKind & { kind: "media" },
    pieces: readonly string[],
  ): string {
    const data = pieces.join("");
    if (content.media === "audio") {
      return this.#chunk(choice, { audio: { id: content.id ?? this.#context.id("audio_"), data } });
    }
    const url = dataUrl(content.mimeType, data);
    this.#choices.get(choice)!.images.push({ type: "image_url", image_url: { url } });
    return this.#held(url.length);
  }

  /** Each choice begins with a chunk that names the role. */
  #role(choice: number): string {
    if (this.#choices.has(choice)) return "";
    const units = new TextUnits();
    this.#choices.set(choice, { tools: 0, units, annotations: [], images: [] });
    return this.#chunk(choice, { role: "assistant", content: "", refusal: null });
  }

  #chunk(
    index: number,
    delta: Record<string, unknown>,
    more?: { finish_reason?: string; logprobs?: readonly TokenLogprob[] } | undefined,
  ): string {
    const logprobs = writeLogprobs(more?.logprobs);
    return this.#frame({
      choices: [{ index, delta, logprobs, finish_reason: more?.finish_reason ?? null }],
      ...(this.#context.showUsage ? { usage: null } : {}),
    });
  }

  /** Writes the same as `#chunk` without creating an object for each piece of text. */
  #textChunk(index: number, text: string): string {
    const content = JSON.stringify(text);
    const usage = this.#context.showUsage ? ',"usage":null' : "";
    return `${this.#begin()}"choices":[{"index":${index},"delta":{"content":${content}},` +
      `"logprobs":null,"finish_reason":null}]${usage}}\n\n`;
  }

  /** `fields` must have at least one member. */
  #frame(fields: Record<string, unknown>): string {
    return `${this.#begin()}${JSON.stringify(fields).slice(1)}\n\n`;
  }

  #begin(): string {
    const model = this.#model;
    if (this.#head?.model === model) return this.#head.text;
    const head = { id: this.#id, object: "chat.completion.chunk", created: this.#context.created };
    const text = `data: ${JSON.stringify({ ...head, model }).slice(0, -1)},`;
    this.#head = { model, text };
    return text;
  }
}

/** Ends a stream with an error, without `[DONE]`, which would mean success. */
export function errorFrame(fault: Fault): string {
  const error = {
    message: fault.message,
    type: errors[fault.code].type,
    code: fault.code,
    param: fault.param ?? null,
  };
  return `data: ${JSON.stringify({ error })}\n\n`;
}
