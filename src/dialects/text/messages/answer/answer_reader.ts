import type { CanonicalEvent } from "../../../kernel/canonical.ts";
import { asString, isRecord, type JsonRecord } from "../../../kernel/json.ts";
import { BlockReader } from "./block_reader.ts";
import { readFinishReason } from "../finish_reason.ts";
import { laterUsage, readUsage } from "../usage.ts";

/** What streamed and whole answers have in common: start, usage so far, the one finish. */
export class AnswerReader {
  readonly blocks = new BlockReader();
  finished = false;
  #id: string | undefined;
  #started = false;
  #usage: unknown;

  get started(): boolean {
    return this.#started;
  }

  /** False when a message of another id stands in the same answer. */
  start(message: JsonRecord, events: CanonicalEvent[]): boolean {
    const id = asString(message.id);
    if (this.#started) return id === this.#id;
    this.#started = true;
    this.#id = id;
    events.push({ type: "start", id, model: asString(message.model), created: undefined });
    if (Array.isArray(message.content)) {
      for (const block of message.content) this.blocks.whole(block, events);
    }
    this.usage(message.usage, events);
    const reason = asString(message.stop_reason);
    if (reason !== undefined) this.finish(reason, message, events);
    return true;
  }

  usage(raw: unknown, events: CanonicalEvent[]): void {
    if (!isRecord(raw)) return;
    this.#usage = laterUsage(this.#usage, raw);
    const usage = readUsage(this.#usage);
    if (usage) events.push({ type: "usage", usage });
  }

  /** `told` holds `stop_sequence` and `stop_details`. */
  finish(raw: string, stop: JsonRecord, events: CanonicalEvent[]): void {
    if (this.finished) return;
    this.finished = true;
    const reason = readFinishReason(raw, this.blocks.sawToolCall);
    this.blocks.closeAll(events, reason !== "length");
    const details = isRecord(stop.stop_details) ? stop.stop_details : {};
    const explanation = asString(details.explanation);
    // Why it refused is all that such an answer says (translation.md §10).
    if (reason === "content_filter" && explanation !== undefined && !this.blocks.sawText) {
      this.blocks.refusal(explanation, events);
    }
    const stopSequence = asString(stop.stop_sequence);
    events.push({
      type: "finish",
      choice: 0,
      reason,
      raw,
      ...(stopSequence === undefined ? {} : { stopSequence }),
    });
  }
}
