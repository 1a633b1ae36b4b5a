import type { CanonicalEvent, SearchWork } from "../../../kernel/canonical.ts";
import { asString, innerJson, isRecord, type JsonRecord, recordsIn } from "../../../kernel/json.ts";
import { standardBase64 } from "../../../kernel/media_source.ts";
import { readSummary } from "../conversation/summary.ts";
import type { Blocks } from "./blocks.ts";
import type { ItemReader } from "./item_reader.ts";

/**
 * Reads an item of vendor-side work: an image becomes media, a summary that the gateway wrote,
 * which records hold, becomes text, and anything else a block for this dialect only. The item is
 * emitted whole, since its stream events are of no use to callers of other dialects.
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
    const summary = readSummary(item);
    if (summary !== undefined) return this.#blocks.whole({ kind: "text" }, summary, events);
    const picture = item.type === "image_generation_call"
      ? standardBase64(asString(item.result) ?? "") || undefined
      : undefined;
    if (picture === undefined) {
      const search = item.type === "web_search_call" ? readSearchCall(item) : undefined;
      const content = { kind: "vendor", dialect: "responses", value: item } as const;
      return this.#blocks.whole(search ? { ...content, search } : content, "", events);
    }
    const mimeType = `image/${asString(item.output_format) ?? "png"}`;
    const content = { kind: "media", media: "image", mimeType, id: asString(item.id) } as const;
    this.#blocks.whole(content, picture, events);
  }

  close(): void {}
}

/**
 * Reads the web search that an item reports; undefined for an item that opened a page. Some vendors
 * send its arguments as text.
 */
function readSearchCall(item: JsonRecord): SearchWork | undefined {
  const action = isRecord(item.action) ? item.action : innerJson(asString(item.arguments) ?? "");
  if (!isRecord(action) || (action.type !== undefined && action.type !== "search")) {
    return undefined;
  }
  const list = Array.isArray(action.queries)
    ? action.queries.flatMap((one) => asString(one) ?? [])
    : [];
  const single = asString(action.query);
  const sources = recordsIn(action.sources);
  return {
    id: asString(item.id) ?? "",
    queries: list.length > 0 || single === undefined ? list : [single],
    results: sources.flatMap((source) => {
      const url = asString(source.url);
      return url === undefined ? [] : [{ url, title: asString(source.title) }];
    }),
  };
}
