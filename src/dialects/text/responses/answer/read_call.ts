import type { CanonicalEvent } from "../../../kernel/canonical.ts";
import { asString, isRecord, type JsonRecord } from "../../../kernel/json.ts";
import { type Blocks, missingFrom } from "./blocks.ts";
import type { ItemReader } from "./item_reader.ts";

/** Reads a call of the caller's tool. Its block opens when the name is known. */
export class CallReader implements ItemReader {
  readonly #blocks: Blocks;
  readonly #custom: boolean;
  #id: string | undefined;
  #name: string | undefined;
  #block: number | undefined;
  #received = 0;
  /** Arguments received before the name. */
  #early = "";
  #ended = false;

  constructor(blocks: Blocks, custom: boolean) {
    this.#blocks = blocks;
    this.#custom = custom;
  }

  open(item: JsonRecord, events: CanonicalEvent[]): void {
    this.#learn(item);
    this.#append(this.#textOf(item), events);
  }

  piece(event: JsonRecord, events: CanonicalEvent[]): void {
    this.#learn(event);
    // A `delta`, or the whole text of a `done` event.
    const whole = missingFrom(this.#textOf(event), this.#received);
    this.#append(asString(event.delta) ?? whole, events);
  }

  finish(item: JsonRecord, events: CanonicalEvent[]): void {
    if (this.#ended) return;
    this.#learn(item);
    this.#append(missingFrom(this.#textOf(item), this.#received), events);
    this.close(events);
  }

  close(events: CanonicalEvent[]): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#start(events);
    this.#blocks.end(this.#block!, events);
  }

  #learn(from: JsonRecord): void {
    this.#name ??= asString(from.name);
    // Servers without a `call_id` identify the call by the item's id.
    this.#id = asString(from.call_id) ?? this.#id ?? asString(from.id);
  }

  #textOf(from: JsonRecord): string {
    const value = this.#custom ? from.input : from.arguments;
    // Some servers send parsed arguments.
    return isRecord(value) ? JSON.stringify(value) : asString(value) ?? "";
  }

  #append(text: string, events: CanonicalEvent[]): void {
    this.#received += text.length;
    if (this.#name !== undefined) this.#start(events);
    if (this.#block === undefined) this.#early += text;
    else this.#delta(text, events);
  }

  #start(events: CanonicalEvent[]): void {
    if (this.#block !== undefined) return;
    this.#block = this.#blocks.start({
      kind: "tool-call",
      id: this.#id ?? "",
      name: this.#name ?? "",
      custom: this.#custom,
    }, events);
    this.#delta(this.#early, events);
    this.#early = "";
  }

  #delta(text: string, events: CanonicalEvent[]): void {
    if (text !== "") this.#blocks.delta(this.#block!, text, events);
  }
}
