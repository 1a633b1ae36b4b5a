import type { CanonicalEvent } from "../../../kernel/canonical.ts";
import { asRecord, asString, isRecord, type JsonRecord } from "../../../kernel/json.ts";
import { type Blocks, indexOf, missingFrom } from "./blocks.ts";
import { reasoningSeparator } from "../request/decode_items.ts";
import type { ItemReader } from "./item_reader.ts";

/**
 * Reads a reasoning item. Its summaries, or the raw text of open models, are paragraphs of one
 * block, which ends with the sealed content. An item without either is ignored.
 */
export class ReasoningReader implements ItemReader {
  readonly #blocks: Blocks;
  #block: number | undefined;
  #finished = false;
  /** UTF-16 units received of each paragraph. */
  readonly #received = new Map<string, number>();
  /** The paragraph that received text last. */
  #paragraph: string | undefined;

  constructor(blocks: Blocks) {
    this.#blocks = blocks;
  }

  open(): void {}

  piece(event: JsonRecord, events: CanonicalEvent[]): void {
    const part = asRecord(event.part);
    switch (event.type) {
      case "response.reasoning_summary_text.delta":
        return this.#delta(summary(event), event.delta, events);
      case "response.reasoning_summary_text.done":
        return this.#whole(summary(event), event.text, events);
      case "response.reasoning_summary_part.done":
        return this.#whole(summary(event), part.text, events);
      case "response.reasoning_text.delta":
        return this.#delta(content(event), event.delta, events);
      case "response.reasoning_text.done":
        return this.#whole(content(event), event.text, events);
      case "response.content_part.done":
        return this.#whole(content(event), part.text, events);
    }
  }

  finish(item: JsonRecord, events: CanonicalEvent[]): void {
    if (this.#finished) return;
    this.#finished = true;
    this.#paragraphs(item.summary, (summary_index) => summary({ summary_index }), events);
    this.#paragraphs(item.content, (content_index) => content({ content_index }), events);
    const sealed = asString(item.encrypted_content);
    if (sealed === undefined) return this.close(events);
    if (!this.#blocks.isOpen(this.#block)) {
      this.#block = this.#blocks.start({ kind: "reasoning" }, events);
    }
    const itemId = asString(item.id);
    this.#blocks.end(this.#block, events, {
      opaque: {
        dialect: "responses",
        kind: "encrypted_content",
        value: sealed,
        ...(itemId === undefined ? {} : { itemId }),
      },
    });
  }

  close(events: CanonicalEvent[]): void {
    if (this.#blocks.isOpen(this.#block)) this.#blocks.end(this.#block, events);
  }

  #paragraphs(list: unknown, key: (index: number) => string, events: CanonicalEvent[]): void {
    if (!Array.isArray(list)) return;
    for (const [index, part] of list.entries()) {
      if (isRecord(part)) this.#whole(key(index), part.text, events);
    }
  }

  #whole(paragraph: string, text: unknown, events: CanonicalEvent[]): void {
    this.#delta(paragraph, missingFrom(text, this.#received.get(paragraph) ?? 0), events);
  }

  #delta(paragraph: string, text: unknown, events: CanonicalEvent[]): void {
    if (typeof text !== "string" || text === "") return;
    this.#received.set(paragraph, (this.#received.get(paragraph) ?? 0) + text.length);
    if (!this.#blocks.isOpen(this.#block)) {
      this.#block = this.#blocks.start({ kind: "reasoning" }, events);
      this.#paragraph = undefined;
    }
    const isNext = this.#paragraph !== undefined && this.#paragraph !== paragraph;
    this.#paragraph = paragraph;
    this.#blocks.delta(this.#block, isNext ? reasoningSeparator + text : text, events);
  }
}

function summary(event: JsonRecord): string {
  return `summary ${indexOf(event.summary_index)}`;
}

function content(event: JsonRecord): string {
  return `content ${indexOf(event.content_index)}`;
}
