import { BlockEvents } from "../../../kernel/block_events.ts";
import type { CanonicalEvent, Citation } from "../../../kernel/canonical.ts";
import type { Opaque } from "../../../kernel/canonical_request.ts";
import { maxCitations } from "../../../kernel/fold.ts";
import { asRecord, asString, innerJson, isRecord, type JsonRecord } from "../../../kernel/json.ts";
import { ownFields } from "../../../kernel/own_fields.ts";
import { readCitation } from "./citation.ts";
import { readSearchBlock } from "./search_blocks.ts";

/** Maximum text of vendor blocks and of sources, apart from the answer's text, in UTF-16 units. */
const maxGathered = 32 * 1024 * 1024;
const maxOpen = 1_000;

interface WordsBlock {
  kind: "text" | "reasoning";
  /** Undefined until the block has content: empty blocks are left out. */
  block: number | undefined;
  opaque: Opaque | undefined;
  /** Sources of the block. They precede its text on the wire and are emitted when it ends. */
  citations: Citation[];
  /** All sources as the vendor sent them, including those in the caller's documents. */
  ownCitations: JsonRecord[];
  /** Length of its text in UTF-16 units. */
  length: number;
}

type OpenBlock =
  | WordsBlock
  | { kind: "tool"; block: number; input: JsonRecord; wrote: boolean; own: JsonRecord }
  | { kind: "vendor"; value: JsonRecord; pieces: string[]; more: string[] };

/** A stream that can't be decoded. */
export class UnreadableBlocks extends Error {}

/**
 * Reads content blocks, whole or streamed, into canonical events. Text and thinking blocks open
 * with their first text, so that empty ones leave no trace; blocks of vendor-side work are buffered
 * and emitted whole.
 */
export class BlockReader {
  sawToolCall = false;
  sawText = false;
  readonly #blocks = new BlockEvents();
  #gathered = 0;
  readonly #open = new Map<number, OpenBlock>();

  whole(value: unknown, events: CanonicalEvent[]): void {
    this.start(-1, value, events);
    this.stop(-1, events);
  }

  start(index: number, value: unknown, events: CanonicalEvent[]): void {
    this.stop(index, events);
    this.#closeOthers(events);
    if (!isRecord(value)) return;
    if (this.#open.size >= maxOpen) throw new UnreadableBlocks("too many open blocks");
    switch (value.type) {
      case "text": {
        this.#open.set(index, emptyBlock("text"));
        this.#addText(index, "text", asString(value.text), events);
        const citations = Array.isArray(value.citations) ? value.citations : [];
        for (const one of citations) this.#cite(index, one, events);
        break;
      }
      case "thinking":
        this.#open.set(index, emptyBlock("reasoning", opaqueOf("signature", value.signature)));
        this.#addText(index, "reasoning", asString(value.thinking), events);
        break;
      case "redacted_thinking": {
        this.#open.set(index, emptyBlock("reasoning", opaqueOf("redacted", value.data)));
        break;
      }
      case "tool_use":
        this.#startTool(index, value, events);
        break;
      default:
        this.#open.set(index, { kind: "vendor", value, pieces: [], more: [] });
    }
  }

  delta(index: number, delta: unknown, events: CanonicalEvent[]): void {
    if (!isRecord(delta)) return;
    const open = this.#open.get(index);
    switch (delta.type) {
      case "text_delta":
        this.#addText(index, "text", asString(delta.text), events);
        break;
      case "thinking_delta":
        this.#addText(index, "reasoning", asString(delta.thinking), events);
        break;
      case "signature_delta":
        if (open?.kind === "reasoning") {
          open.opaque = opaqueOf("signature", delta.signature) ?? open.opaque;
        }
        break;
      case "input_json_delta":
        this.#json(open, asString(delta.partial_json), events);
        break;
      case "citations_delta":
        this.#cite(index, delta.citation, events);
        break;
      case "compaction_delta":
        if (open?.kind === "vendor") this.#compact(open, delta);
        break;
    }
  }

  stop(index: number, events: CanonicalEvent[]): void {
    const open = this.#open.get(index);
    this.#open.delete(index);
    if (open) this.#close(open, events, true);
  }

  /** Closes the open blocks. `whole`: none of their content is missing. */
  closeAll(events: CanonicalEvent[], whole: boolean): void {
    for (const open of this.#open.values()) this.#close(open, events, whole);
    this.#open.clear();
  }

  /** Adds a refusal that was reported outside of the content. */
  refusal(text: string, events: CanonicalEvent[]): void {
    this.#blocks.whole({ kind: "refusal" }, text, events);
  }

  #startTool(index: number, value: JsonRecord, events: CanonicalEvent[]): void {
    this.sawToolCall = true;
    const id = asString(value.id) ?? "";
    const name = asString(value.name) ?? "";
    const block = this.#blocks.start({ kind: "tool-call", id, name, custom: false }, events);
    const input = asRecord(value.input);
    this.#open.set(index, { kind: "tool", block, input, wrote: false, own: ownFieldsOf(value) });
  }

  /**
   * Only tool calls may be open at the same time; any other block ends when the next one starts.
   */
  #closeOthers(events: CanonicalEvent[]): void {
    for (const [index, open] of this.#open) {
      if (open.kind === "tool") continue;
      this.#open.delete(index);
      this.#close(open, events, true);
    }
  }

  /** Adds text to a block, after starting the block if it isn't open or is of another kind. */
  #addText(
    index: number,
    kind: "text" | "reasoning",
    text: string | undefined,
    events: CanonicalEvent[],
  ): void {
    if (text === undefined) return;
    let open = this.#open.get(index);
    if (open?.kind !== kind) {
      this.stop(index, events);
      this.#closeOthers(events);
      open = emptyBlock(kind);
      this.#open.set(index, open);
    }
    open.block ??= this.#blocks.start({ kind }, events);
    if (kind === "text") this.sawText = true;
    open.length += text.length;
    this.#blocks.delta(open.block, text, events);
  }

  #json(open: OpenBlock | undefined, text: string | undefined, events: CanonicalEvent[]): void {
    if (text === undefined) return;
    if (open?.kind === "tool") {
      open.wrote = true;
      this.#blocks.delta(open.block, text, events);
    } else if (open?.kind === "vendor") {
      this.#gather(open.pieces, text);
    }
  }

  #cite(index: number, value: unknown, events: CanonicalEvent[]): void {
    const open = this.#open.get(index);
    if (open?.kind !== "text" || !isRecord(value)) return;
    if (open.ownCitations.length === maxCitations) return;
    this.#count(JSON.stringify(value));
    open.ownCitations.push(value);
    const citation = readCitation(value);
    if (!citation) return;
    open.block ??= this.#blocks.start({ kind: "text" }, events);
    open.citations.push(citation);
  }

  /** Emits a block's sources; each covers the whole text of the block. */
  #emitSources({ block, citations, length }: WordsBlock, events: CanonicalEvent[]): void {
    if (block === undefined) return;
    const range = length === 0 ? {} : { start: 0, end: length };
    for (const citation of citations) {
      this.#blocks.cite(block, { ...citation, ...range }, events);
    }
  }

  /** Adds a piece of a summary, and its sealed form, which the vendor needs back. */
  #compact(open: OpenBlock & { kind: "vendor" }, delta: JsonRecord): void {
    const { type: _, content, ...sealed } = delta;
    this.#gather(open.more, asString(content));
    this.#count(JSON.stringify(sealed));
    open.value = { ...open.value, ...sealed };
  }

  #gather(pieces: string[], text: string | undefined): void {
    if (text === undefined) return;
    this.#count(text);
    pieces.push(text);
  }

  #count(text: string): void {
    this.#gathered += text.length;
    if (this.#gathered > maxGathered) throw new UnreadableBlocks("vendor blocks are too large");
  }

  #close(open: OpenBlock, events: CanonicalEvent[], whole: boolean): void {
    let block: number | undefined;
    let opaque: Opaque | undefined;
    let own: JsonRecord = {};
    if (open.kind === "vendor") {
      const value = gathered(open);
      const search = readSearchBlock(value);
      const content = { kind: "vendor", dialect: "messages", value } as const;
      block = this.#blocks.start(search ? { ...content, search } : content, events);
    } else if (open.kind === "tool") {
      block = open.block;
      own = open.own;
      // Without deltas the input is the start event's, usually empty.
      if (whole && !open.wrote) {
        this.#blocks.delta(block, JSON.stringify(open.input), events);
      }
    } else {
      opaque = open.opaque;
      if (open.ownCitations.length > 0) own = { citations: open.ownCitations };
      this.#emitSources(open, events);
      block = open.block ??
        (opaque ? this.#blocks.start({ kind: "reasoning" }, events) : undefined);
    }
    if (block === undefined) return;
    this.#blocks.end(block, events, { opaque, ...ownFields("messages", own) });
  }
}

function emptyBlock(kind: WordsBlock["kind"], opaque?: Opaque): WordsBlock {
  return { kind, block: undefined, opaque, citations: [], ownCitations: [], length: 0 };
}

/** Returns a call's caller, unless the model called the tool directly, and the tool's toolset. */
function ownFieldsOf({ caller, toolset_name }: JsonRecord): JsonRecord {
  const isDirect = !isRecord(caller) || caller.type === "direct";
  return {
    ...(isDirect ? {} : { caller }),
    ...(typeof toolset_name === "string" ? { toolset_name } : {}),
  };
}

function opaqueOf(kind: "signature" | "redacted", value: unknown): Opaque | undefined {
  const text = asString(value);
  return text === undefined ? undefined : { dialect: "messages", kind, value: text };
}

/** Returns a vendor block with its streamed input or content filled in. */
function gathered(open: { value: JsonRecord; pieces: string[]; more: string[] }): JsonRecord {
  let value = open.value;
  if (open.pieces.length > 0) {
    const input = innerJson(open.pieces.join(""));
    // If the output limit cut the JSON off, the block keeps the input that it started with.
    if (input !== undefined) value = { ...value, input };
  }
  if (open.more.length > 0) {
    const before = typeof value.content === "string" ? value.content : "";
    value = { ...value, content: before + open.more.join("") };
  }
  return value;
}
