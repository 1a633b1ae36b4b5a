import type { CanonicalEvent, TokenLogprob } from "../../../kernel/canonical.ts";
import { isRecord, type JsonRecord } from "../../../kernel/json.ts";
import { type Blocks, indexOf, missingFrom } from "./blocks.ts";
import { readCitation } from "./citations.ts";
import type { ItemReader } from "./item_reader.ts";
import { readLogprob } from "./logprobs.ts";
import type { LogprobReader } from "../../../kernel/token_logprobs.ts";
import { TextUnits } from "../../../kernel/text_units.ts";

/** The state of one content part, and what has been emitted of it. */
interface Part {
  kind: "text" | "refusal";
  block: number | undefined;
  received: TextUnits;
  cited: number;
  hasLogprobs: boolean;
}

/** Reads a message item: each of its parts is a block, unless it has no text. */
export class MessageReader implements ItemReader {
  readonly #blocks: Blocks;
  readonly #logprobs: LogprobReader;
  readonly #parts = new Map<number, Part>();
  #lastPart: Part | undefined;

  constructor(blocks: Blocks, logprobs: LogprobReader) {
    this.#blocks = blocks;
    this.#logprobs = logprobs;
  }

  open(): void {}

  piece(event: JsonRecord, events: CanonicalEvent[]): void {
    const index = indexOf(event.content_index);
    switch (event.type) {
      case "response.output_text.delta":
        return this.#text(this.#part(index, "text"), event.delta, event.logprobs, events);
      case "response.output_text.done":
        return this.#whole(this.#part(index, "text"), event.text, event.logprobs, events);
      case "response.output_text.annotation.added":
        return this.#annotation(this.#part(index, "text"), event.annotation, events);
      case "response.refusal.delta":
        return this.#text(this.#part(index, "refusal"), event.delta, undefined, events);
      case "response.refusal.done":
        return this.#whole(this.#part(index, "refusal"), event.refusal, undefined, events);
      case "response.content_part.done":
        return this.#finishPart(index, event.part, events);
    }
  }

  finish(item: JsonRecord, events: CanonicalEvent[]): void {
    if (Array.isArray(item.content)) {
      for (const [index, part] of item.content.entries()) this.#finishPart(index, part, events);
    }
    this.close(events);
  }

  close(events: CanonicalEvent[]): void {
    // Only the part that received text last can be open.
    if (this.#lastPart) this.#end(this.#lastPart, events);
  }

  #part(index: number, kind: Part["kind"]): Part {
    let part = this.#parts.get(index);
    if (!part) {
      part = {
        kind,
        block: undefined,
        received: new TextUnits(),
        cited: 0,
        hasLogprobs: false,
      };
      this.#parts.set(index, part);
    }
    return part;
  }

  #finishPart(index: number, value: unknown, events: CanonicalEvent[]): void {
    if (!isRecord(value)) return;
    const isRefusal = value.type === "refusal";
    const part = this.#part(index, isRefusal ? "refusal" : "text");
    this.#whole(part, isRefusal ? value.refusal : value.text, value.logprobs, events);
    const annotations = Array.isArray(value.annotations) ? value.annotations : [];
    for (const one of annotations.slice(part.cited)) this.#annotation(part, one, events);
    this.#end(part, events);
  }

  #text(part: Part, text: unknown, logprobs: unknown, events: CanonicalEvent[]): void {
    const list = this.#logprobs.read(logprobs, readLogprob);
    const tokens = list?.length ? list : undefined;
    if (typeof text !== "string" || (text === "" && !tokens)) return;
    part.received.add(text);
    if (tokens) part.hasLogprobs = true;
    this.#delta(part, text, tokens, events);
  }

  /** Reads a part's whole text: emits what hasn't been received yet. */
  #whole(part: Part, text: unknown, logprobs: unknown, events: CanonicalEvent[]): void {
    const rest = missingFrom(text, part.received.length);
    const tokens = part.hasLogprobs ? undefined : logprobs;
    this.#text(part, rest, tokens, events);
  }

  #delta(
    part: Part,
    text: string,
    logprobs: TokenLogprob[] | undefined,
    events: CanonicalEvent[],
  ): void {
    if (!this.#blocks.isOpen(part.block)) {
      part.block = this.#blocks.start({ kind: part.kind }, events);
      this.#lastPart = part;
    }
    this.#blocks.delta(part.block, text, events, logprobs);
  }

  #annotation(part: Part, annotation: unknown, events: CanonicalEvent[]): void {
    part.cited++;
    const citation = readCitation(annotation, part.received);
    if (!citation || part.block === undefined) return;
    this.#blocks.cite(part.block, citation, events);
  }

  #end(part: Part, events: CanonicalEvent[]): void {
    if (this.#blocks.isOpen(part.block)) this.#blocks.end(part.block, events);
  }
}
