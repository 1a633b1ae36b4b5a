import { finish, type Steps } from "../../../../base/steps.ts";
import type { CanonicalEvent } from "../../../kernel/canonical.ts";
import { optionalField } from "../../../kernel/fields.ts";
import { asRecord, asString, count, isRecord, type JsonRecord } from "../../../kernel/json.ts";
import { OwnMembers } from "../../../kernel/own_fields.ts";
import { BlockReader } from "./block_reader.ts";
import { readFinishReason } from "../finish_reason.ts";
import { laterUsage, promptReport, readUsage } from "../usage.ts";

/** State common to streamed and whole answers: the start, the usage so far, the single finish. */
export class AnswerReader {
  readonly blocks = new BlockReader();
  finished = false;
  /** Collects the members of a message, or of the event that ends it, that aren't read. */
  readonly own = new OwnMembers([
    ...["id", "type", "role", "model", "content", "usage", "stop_reason", "stop_sequence"],
    ...["delta"],
  ]);
  #id: string | undefined;
  #started = false;
  #usage: unknown;

  get started(): boolean {
    return this.#started;
  }

  /**
   * Reads the start of the answer. Returns false if the answer already has a message with another
   * id.
   */
  start(message: JsonRecord, events: CanonicalEvent[]): boolean {
    const isWhole = asString(message.stop_reason) !== undefined;
    return finish(this.startInSteps(message, events, isWhole));
  }

  /** The same, with a step for each block of a whole answer. */
  *startInSteps(
    message: JsonRecord,
    events: CanonicalEvent[],
    isWhole: boolean,
  ): Steps<boolean> {
    const id = asString(message.id);
    if (this.#started) return id === this.#id;
    this.#started = true;
    this.#id = id;
    this.own.add(message);
    events.push({ type: "start", id, model: asString(message.model), created: undefined });
    if (Array.isArray(message.content)) {
      for (const block of message.content) {
        this.blocks.whole(block, events);
        yield;
      }
    }
    const reason = asString(message.stop_reason);
    this.usage(message.usage, events, !isWhole);
    if (reason !== undefined) this.finish(reason, message, events);
    return true;
  }

  usage(raw: unknown, events: CanonicalEvent[], isEarly = false): void {
    if (!isRecord(raw)) return;
    this.#usage = isEarly ? promptReport(raw) : laterUsage(this.#usage, raw);
    const usage = readUsage(this.#usage);
    if (usage && isEarly) {
      const outputSoFar = optionalField("outputSoFar", count(raw.output_tokens));
      events.push({ type: "usage", usage: { ...usage, raw }, isEarly, ...outputSoFar });
    } else if (usage) events.push({ type: "usage", usage });
  }

  /** Ends the answer. `stop` holds `stop_sequence` and `stop_details`. */
  finish(raw: string, stop: JsonRecord, events: CanonicalEvent[]): void {
    if (this.finished) return;
    this.finished = true;
    const reason = readFinishReason(raw, this.blocks.sawToolCall);
    this.blocks.closeAll(events, reason !== "length");
    const details = asRecord(stop.stop_details);
    const explanation = asString(details.explanation);
    // The reason for the refusal is shown if the answer has no other text.
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
