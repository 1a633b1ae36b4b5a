import type {
  BlockDeltaEvent,
  BlockEndEvent,
  BlockStartEvent,
  CitationEvent,
} from "../../../kernel/canonical.ts";
import { isRecord, type JsonRecord } from "../../../kernel/json.ts";
import { writeSearchBlocks } from "./search_blocks.ts";
import { writeCitation } from "./citation.ts";
import { derivedCallId, mediaNote } from "../answer_encoder.ts";

export interface BlockStyle {
  /** False if the caller asked not to see reasoning. */
  showsReasoning: boolean;
}

/**
 * Writes one block of a stream: start, deltas, stop. Text and thinking blocks start with their
 * first text, so that none is empty.
 */
export class BlockWriter {
  isOpen = false;
  /** Number of blocks that the caller gets for this one: another vendor's search may become two. */
  count = 1;
  readonly #event: BlockStartEvent;
  readonly #style: BlockStyle;
  /** Input of a custom tool, sent when the block ends. */
  #custom = "";
  #wroteInput = false;

  constructor(event: BlockStartEvent, style: BlockStyle) {
    this.#event = event;
    this.#style = style;
  }

  start(index: number): string {
    const { content, block } = this.#event;
    switch (content.kind) {
      case "tool-call": {
        const id = content.id || derivedCallId(content.name, block);
        return this.#open(index, {
          type: "tool_use",
          id,
          name: content.name,
          input: {},
          caller: { type: "direct" },
        });
      }
      case "media": {
        const text = mediaNote(content.media, content.mimeType);
        return this.#open(index, { type: "text", text: "" }) +
          delta(index, { type: "text_delta", text });
      }
      case "vendor":
        if (content.dialect === "messages") return this.#vendor(index, content.value);
        return content.search ? this.#search(index, writeSearchBlocks(content.search)) : "";
      default:
        return "";
    }
  }

  delta(event: BlockDeltaEvent, index: number): string {
    if (event.text === "") return "";
    const { content } = this.#event;
    switch (content.kind) {
      case "text":
        return this.#openText(index) + textDelta(index, event.text);
      case "reasoning":
        if (!this.#style.showsReasoning) return "";
        return this.#openThinking(index) +
          delta(index, { type: "thinking_delta", thinking: event.text });
      case "tool-call":
        if (content.custom) {
          this.#custom += event.text;
          return "";
        }
        this.#wroteInput = true;
        return delta(index, { type: "input_json_delta", partial_json: event.text });
      default:
        return "";
    }
  }

  citation(event: CitationEvent, index: number): string {
    if (this.#event.content.kind !== "text") return "";
    const citation = writeCitation(event.citation);
    return this.#openText(index) + delta(index, { type: "citations_delta", citation });
  }

  /** Ends the block. Without an `event` the answer ended while the block was open. */
  end(event: BlockEndEvent | undefined, index: number): string {
    const { content } = this.#event;
    let text = "";
    if (content.kind === "reasoning") {
      text = this.#seal(event, index);
    } else if (content.kind === "tool-call" && content.custom) {
      const input = JSON.stringify({ input: this.#custom });
      text = delta(index, { type: "input_json_delta", partial_json: input });
    } else if (content.kind === "tool-call" && !this.#wroteInput) {
      text = delta(index, { type: "input_json_delta", partial_json: "{}" });
    }
    const last = index + this.count - 1;
    return this.isOpen ? text + sseEvent({ type: "content_block_stop", index: last }) : text;
  }

  #search(index: number, blocks: readonly JsonRecord[]): string {
    this.count = blocks.length;
    return blocks.map((block, offset) => {
      const at = index + offset;
      const isLast = offset === blocks.length - 1;
      return this.#vendor(at, block) +
        (isLast ? "" : sseEvent({ type: "content_block_stop", index: at }));
    }).join("");
  }

  /**
   * Writes the vendor's signature; if there is no text, the block consists only of the signature.
   * Another vendor's thinking gets an empty one, since some clients read it from this event alone
   * and would send the block back without it.
   */
  #seal(event: BlockEndEvent | undefined, index: number): string {
    const opaque = event?.opaque;
    if (opaque?.dialect !== "messages") {
      return this.isOpen ? delta(index, { type: "signature_delta", signature: "" }) : "";
    }
    if (opaque.kind === "redacted") {
      return this.isOpen
        ? ""
        : this.#open(index, { type: "redacted_thinking", data: opaque.value });
    }
    return this.#openThinking(index) +
      delta(index, { type: "signature_delta", signature: opaque.value });
  }

  /**
   * Writes a block of vendor-side work unchanged; its input is streamed like that of other calls.
   */
  #vendor(index: number, value: unknown): string {
    if (!isRecord(value)) return "";
    if (value.type === "compaction") {
      const { content, encrypted_content } = value;
      return this.#open(index, { ...value, content: null }) +
        delta(index, { type: "compaction_delta", content, encrypted_content });
    }
    if (!/tool_use$/.test(String(value.type)) || !isRecord(value.input)) {
      return this.#open(index, value);
    }
    const input = JSON.stringify(value.input);
    return this.#open(index, { ...value, input: {} }) +
      delta(index, { type: "input_json_delta", partial_json: input });
  }

  #openText(index: number): string {
    return this.isOpen ? "" : this.#open(index, { type: "text", text: "" });
  }

  #openThinking(index: number): string {
    return this.isOpen ? "" : this.#open(index, { type: "thinking", thinking: "", signature: "" });
  }

  #open(index: number, block: JsonRecord): string {
    this.isOpen = true;
    return sseEvent({ type: "content_block_start", index, content_block: block });
  }
}

function delta(index: number, value: Record<string, unknown>): string {
  return sseEvent({ type: "content_block_delta", index, delta: value });
}

/** Writes the same as `delta` without creating an object for each piece of text. */
function textDelta(index: number, text: string): string {
  return "event: content_block_delta\ndata: " +
    `{"type":"content_block_delta","index":${index},"delta":{"type":"text_delta","text":${
      JSON.stringify(text)
    }}}\n\n`;
}

/** Writes one event with its `event:` line: the vendor's own client ignores events without it. */
export function sseEvent(data: { type: string; [key: string]: unknown }): string {
  return `event: ${data.type}\ndata: ${JSON.stringify(data)}\n\n`;
}
