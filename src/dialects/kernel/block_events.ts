import type {
  BlockEndEvent,
  BlockKind,
  CanonicalEvent,
  Citation,
  TokenLogprob,
} from "./canonical.ts";

/** Appends the events of one choice's blocks to a decoder's list of events. */
export class BlockEvents {
  readonly #choice: number;
  readonly #next: { value: number };

  /** `next` is shared by all choices of an answer, since block numbers are unique in it. */
  constructor(choice = 0, next = { value: 0 }) {
    this.#choice = choice;
    this.#next = next;
  }

  start(content: BlockKind, events: CanonicalEvent[]): number {
    const block = this.#next.value++;
    events.push({ type: "block-start", choice: this.#choice, block, content });
    return block;
  }

  delta(
    block: number,
    text: string,
    events: CanonicalEvent[],
    logprobs?: readonly TokenLogprob[],
  ): void {
    const choice = this.#choice;
    events.push(
      logprobs
        ? { type: "block-delta", choice, block, text, logprobs }
        : { type: "block-delta", choice, block, text },
    );
  }

  cite(block: number, citation: Citation, events: CanonicalEvent[]): void {
    events.push({ type: "citation", choice: this.#choice, block, citation });
  }

  end(
    block: number,
    events: CanonicalEvent[],
    { opaque, own }: Pick<BlockEndEvent, "own"> & { opaque?: BlockEndEvent["opaque"] | undefined } =
      {},
  ): void {
    const ended: BlockEndEvent = { type: "block-end", choice: this.#choice, block };
    if (opaque) ended.opaque = opaque;
    if (own) ended.own = own;
    events.push(ended);
  }

  /** Adds a block that arrives whole: its start, text and end. */
  whole(content: BlockKind, text: string, events: CanonicalEvent[]): void {
    const block = this.start(content, events);
    if (text !== "") this.delta(block, text, events);
    this.end(block, events);
  }
}
