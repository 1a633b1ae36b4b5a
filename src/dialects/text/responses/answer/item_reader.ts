import type { CanonicalEvent } from "../../../kernel/canonical.ts";
import { asRecord, type JsonRecord } from "../../../kernel/json.ts";
import type { LogprobReader } from "../../../kernel/token_logprobs.ts";
import type { Blocks } from "./blocks.ts";
import { CallReader } from "./read_call.ts";
import { MessageReader } from "./read_message.ts";
import { ReasoningReader } from "./read_reasoning.ts";
import { VendorItemReader, vendorTextOf } from "./read_vendor_item.ts";

/**
 * Reads one output item into canonical events. Text comes in deltas, in the `done` event of a part,
 * or with the whole item; servers leave out any of them, and text that comes several times is
 * emitted once.
 */
export interface ItemReader {
  /** Reads the item of its `added` event. */
  open(item: JsonRecord, events: CanonicalEvent[]): void;
  piece(event: JsonRecord, events: CanonicalEvent[]): void;
  finish(item: JsonRecord, events: CanonicalEvent[]): void;
  /** Called when the answer has ended, or was cut off. */
  close(events: CanonicalEvent[]): void;
}

/** Returns the reader of an item; without a type, of one that is the vendor's own work. */
export function itemReader(
  type: string | undefined,
  blocks: Blocks,
  logprobs: LogprobReader,
): ItemReader {
  switch (type) {
    case "message":
      return new MessageReader(blocks, logprobs);
    case "reasoning":
      return new ReasoningReader(blocks);
    case "function_call":
      return new CallReader(blocks, false);
    case "custom_tool_call":
      return new CallReader(blocks, true);
    default:
      return new VendorItemReader(blocks);
  }
}

/**
 * Returns the type of the item that a stream event belongs to; undefined for events that aren't
 * read.
 */
export function itemTypeOf(event: JsonRecord): string | undefined {
  const type = String(event.type);
  if (/^response\.(output_text|refusal)\./.test(type)) return "message";
  if (/^response\.reasoning_(summary_)?(text|part)\./.test(type)) return "reasoning";
  if (type.startsWith("response.function_call_arguments.")) return "function_call";
  if (type.startsWith("response.custom_tool_call_input.")) return "custom_tool_call";
  if (type === "response.content_part.done") {
    return asRecord(event.part).type === "reasoning_text" ? "reasoning" : "message";
  }
  return vendorTextOf(type)?.type;
}
