import type { CanonicalEvent, SearchWork } from "../../../kernel/canonical.ts";
import {
  asRecord,
  asString,
  innerJson,
  isRecord,
  type JsonRecord,
  recordsIn,
} from "../../../kernel/json.ts";
import { standardBase64 } from "../../../kernel/media_source.ts";
import { readSummary } from "../conversation/summary.ts";
import type { Blocks } from "./blocks.ts";
import type { ItemReader } from "./item_reader.ts";

/** An item whose text comes in deltas: how it holds the text that has come so far. */
interface VendorText {
  type: string;
  filled(item: JsonRecord, text: string): JsonRecord;
}

const vendorTexts: ReadonlyMap<string, VendorText> = new Map([
  ["response.apply_patch_call_operation_diff.delta", {
    type: "apply_patch_call",
    filled: ({ operation }, diff) => ({ operation: { ...asRecord(operation), diff } }),
  }],
  ["response.shell_call_command.delta", {
    type: "shell_call",
    filled: ({ action }, text) => ({ action: { ...asRecord(action), commands: [text] } }),
  }],
  ["response.code_interpreter_call_code.delta", {
    type: "code_interpreter_call",
    filled: (_item, code) => ({ code }),
  }],
  ["response.mcp_call_arguments.delta", {
    type: "mcp_call",
    filled: (_item, text) => ({ arguments: text }),
  }],
]);

/** Returns how an item holds the text of such events; undefined for any other event. */
export function vendorTextOf(eventType: string): VendorText | undefined {
  return vendorTexts.get(eventType);
}

/**
 * Reads an item of vendor-side work: an image becomes media, a summary that the gateway wrote,
 * which records hold, becomes text, and anything else a block for this dialect only. The item is
 * emitted whole, since its stream events are of no use to callers of other dialects: when it is
 * done, or with the text that has come of it when the answer is cut off.
 */
export class VendorItemReader implements ItemReader {
  readonly #blocks: Blocks;
  #item: JsonRecord = {};
  #text: VendorText | undefined;
  readonly #pieces: string[] = [];
  #finished = false;

  constructor(blocks: Blocks) {
    this.#blocks = blocks;
  }

  open(item: JsonRecord): void {
    this.#item = item;
  }

  piece(event: JsonRecord): void {
    const text = asString(event.delta);
    if (text === undefined) return;
    this.#text = vendorTextOf(String(event.type));
    this.#pieces.push(text);
  }

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

  close(events: CanonicalEvent[]): void {
    if (this.#finished || this.#text === undefined) return;
    const { type, filled } = this.#text;
    const item = { ...this.#item, type, status: "incomplete" };
    this.finish({ ...item, ...filled(item, this.#pieces.join("")) }, events);
  }
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
