import type { CanonicalEvent } from "../canonical.ts";
import { type JsonRecord, words } from "../json.ts";
import { standardBase64 } from "../media_source.ts";
import type { Blocks } from "./blocks.ts";
import type { ItemReader } from "./item_reader.ts";

/**
 * Reads an item of the vendor's own work: a picture is media, anything else a block that only this
 * dialect can say. Given when it is whole; its pieces are not for callers of other dialects.
 */
export class VendorItemReader implements ItemReader {
  readonly #blocks: Blocks;
  #finished = false;

  constructor(blocks: Blocks) {
    this.#blocks = blocks;
  }

  open(): void {}

  piece(): void {}

  finish(item: JsonRecord, events: CanonicalEvent[]): void {
    if (this.#finished) return;
    this.#finished = true;
    const picture = item.type === "image_generation_call"
      ? standardBase64(words(item.result) ?? "") || undefined
      : undefined;
    if (picture === undefined) {
      const content = { kind: "vendor", dialect: "responses", value: item } as const;
      this.#blocks.end(this.#blocks.start(content, events), events);
      return;
    }
    const mimeType = `image/${words(item.output_format) ?? "png"}`;
    const block = this.#blocks.start(
      { kind: "media", media: "image", mimeType, id: words(item.id) },
      events,
    );
    events.push({ type: "block-delta", choice: 0, block, text: picture });
    this.#blocks.end(block, events);
  }

  close(): void {}
}
