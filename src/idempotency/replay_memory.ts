import type { Clock } from "../base/clock.ts";
import { bareInteraction, type Interaction, type SettledCall } from "../shared/interaction.ts";
import type { Claim, StoredAnswer } from "./request_fingerprint.ts";

/** An answer that this process gave. */
export interface RememberedAnswer {
  readonly claim: Claim;
  /** Without its texts once it is erased. */
  answer: StoredAnswer;
  /** The call that made it, without its texts. */
  readonly settled: Interaction | undefined;
  readonly atMs: number;
  /** The store has it; kept a while for the case that the store goes away. */
  isSaved: boolean;
  isSaving: boolean;
  /** Never replayed; while the store lacks it, it is kept to find a duplicate's charge. */
  isErased: boolean;
}

/** How long an answer that the store has is known without it: repeats come within seconds. */
const savedMs = 5 * 60_000;
const unsavedMs = 24 * 60 * 60_000;
const maxBytes = 64 * 1024 * 1024;

/** Answers that this process gave: those that the store lacks, and recent ones. */
export class ReplayMemory {
  readonly #clock: Pick<Clock, "monotonicMs">;
  /** By key, oldest first. */
  readonly #remembered = new Map<string, RememberedAnswer>();
  /** Erased before the store had them; a later answer may have their key. */
  readonly #erased = new Set<RememberedAnswer>();
  #bytes = 0;

  constructor(clock: Pick<Clock, "monotonicMs">) {
    this.#clock = clock;
  }

  put(claim: Claim, answer: StoredAnswer, settled: SettledCall | undefined): RememberedAnswer {
    this.#drop(claim.key);
    const remembered: RememberedAnswer = {
      claim,
      answer,
      settled: settled && bareInteraction(settled),
      atMs: this.#clock.monotonicMs(),
      isSaved: false,
      isSaving: false,
      isErased: false,
    };
    this.#remembered.set(claim.key, remembered);
    this.#bytes += answer.body.length;
    this.trim();
    return remembered;
  }

  find(key: string): RememberedAnswer | undefined {
    this.trim();
    return this.#remembered.get(key);
  }

  /** Forgets this answer, unless another one took its place. */
  forget(remembered: RememberedAnswer): void {
    this.#erased.delete(remembered);
    if (this.#remembered.get(remembered.claim.key) === remembered) this.#drop(remembered.claim.key);
  }

  erase(transactionIds: ReadonlySet<string>): void {
    for (const [key, remembered] of this.#remembered) {
      const { answer, isSaved } = remembered;
      if (answer.transactionId === null || !transactionIds.has(answer.transactionId)) continue;
      this.#drop(key);
      remembered.isErased = true;
      remembered.answer = { ...answer, headers: {}, body: new Uint8Array() };
      // Another process may have answered the same request: this call's charge is then given back.
      if (!isSaved) this.#erased.add(remembered);
    }
  }

  unsaved(): RememberedAnswer[] {
    const unsaved = [...this.#remembered.values()].filter((remembered) => !remembered.isSaved);
    return [...this.#erased, ...unsaved];
  }

  /** Forgets what is old, and when too much is held the oldest: first what the store has. */
  trim(): void {
    const nowMs = this.#clock.monotonicMs();
    for (const [key, { atMs, isSaved }] of this.#remembered) {
      if (nowMs - atMs >= (isSaved ? savedMs : unsavedMs)) this.#drop(key);
    }
    for (const remembered of this.#erased) {
      if (nowMs - remembered.atMs >= unsavedMs) this.#erased.delete(remembered);
    }
    for (const savedOnly of [true, false]) {
      for (const [key, { isSaved }] of this.#remembered) {
        if (this.#bytes <= maxBytes) return;
        if (isSaved || !savedOnly) this.#drop(key);
      }
    }
  }

  #drop(key: string): void {
    this.#bytes -= this.#remembered.get(key)?.answer.body.length ?? 0;
    this.#remembered.delete(key);
  }
}
