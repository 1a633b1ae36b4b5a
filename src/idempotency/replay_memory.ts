import type { Clock } from "../base/clock.ts";
import { copyOf } from "../base/own_text.ts";
import { bareInteraction, type Interaction, type SettledCall } from "../shared/interaction.ts";
import type { Claim, StoredAnswer } from "./request_fingerprint.ts";

/** An answer that this process gave. */
export interface RememberedAnswer {
  readonly claim: Claim;
  /** Without its texts once it is bare. */
  answer: StoredAnswer;
  /** The call that made it, without its texts. */
  readonly settled: Interaction | undefined;
  readonly atMs: number;
  /** The store has it; it is kept for a while in case the store becomes unreachable. */
  isSaved: boolean;
  isSaving: boolean;
  isErased: boolean;
  /** It was erased before this process answered the request again, as a call of its own. */
  isErasedFirst: boolean;
  /** Never replayed or stored: it is only kept to find a duplicate charge. */
  isBare: boolean;
}

/** How long a stored answer is remembered here too: repeats come within seconds. */
const savedMs = 5 * 60_000;
const unsavedMs = 24 * 60 * 60_000;
/** Of bodies, headers and ids. */
const maxBytes = 64 * 1024 * 1024;
/** Each answer comes with its claim and its call, so many small ones take more than their bytes. */
const maxAnswers = 50_000;
const maxBare = 10_000;

/** Answers that this process gave: those that the store lacks, and recent ones. */
export class ReplayMemory {
  readonly #clock: Pick<Clock, "monotonicMs">;
  /** By key, oldest first. */
  readonly #remembered = new Map<string, RememberedAnswer>();
  /** Those of them that the store has, the first stored first. */
  readonly #saved = new Set<RememberedAnswer>();
  /**
   * Answers that the store lacks and whose texts are gone, erased or dropped for lack of room.
   * Where another process has answered the same request, this call's charge is refunded. A later
   * answer may have the same key.
   */
  readonly #bare = new Set<RememberedAnswer>();
  #bytes = 0;

  constructor(clock: Pick<Clock, "monotonicMs">) {
    this.#clock = clock;
  }

  put(claim: Claim, answer: StoredAnswer, settled: SettledCall | undefined): RememberedAnswer {
    this.#drop(claim.key);
    const remembered: RememberedAnswer = {
      claim,
      // Copies: a header refers to all headers of the vendor's answer.
      answer: { ...answer, headers: copied(answer.headers) },
      settled: settled && bareInteraction(settled),
      atMs: this.#clock.monotonicMs(),
      isSaved: false,
      isSaving: false,
      isErased: false,
      isErasedFirst: false,
      isBare: false,
    };
    this.#remembered.set(claim.key, remembered);
    this.#bytes += bytesOf(answer);
    this.#makeRoom();
    return remembered;
  }

  find(key: string): RememberedAnswer | undefined {
    const remembered = this.#remembered.get(key);
    return remembered && !this.#isOld(remembered) ? remembered : undefined;
  }

  /** Notes that the store has the answer. */
  saved(remembered: RememberedAnswer): void {
    remembered.isSaved = true;
    if (this.#remembered.get(remembered.claim.key) === remembered) this.#saved.add(remembered);
  }

  /** Forgets this answer, unless another one took its place. */
  forget(remembered: RememberedAnswer): void {
    this.#bare.delete(remembered);
    if (this.#remembered.get(remembered.claim.key) === remembered) this.#drop(remembered.claim.key);
  }

  erase(transactionIds: ReadonlySet<string>): void {
    for (const remembered of [...this.#remembered.values(), ...this.#bare]) {
      const { transactionId, sources = [] } = remembered.answer;
      const isOf = (id: string | null) => id !== null && transactionIds.has(id);
      if (!isOf(transactionId) && !sources.some(isOf)) continue;
      this.#strip(remembered);
      if (!remembered.isErased) {
        remembered.isErasedFirst = !this.#remembered.has(remembered.claim.key);
      }
      remembered.isErased = true;
    }
  }

  /**
   * Answers with their texts first: the bare ones are compared with what the store gets from them.
   */
  unsaved(): RememberedAnswer[] {
    const unsaved = [...this.#remembered.values()].filter((remembered) => !remembered.isSaved);
    return [...unsaved, ...this.#bare];
  }

  /** Forgets old answers. It goes through all of them, so it should run about every ten seconds. */
  trim(): void {
    for (const some of [this.#remembered.values(), this.#bare]) {
      for (const remembered of some) if (this.#isOld(remembered)) this.forget(remembered);
    }
  }

  #isOld({ atMs, isSaved }: RememberedAnswer): boolean {
    return this.#clock.monotonicMs() - atMs >= (isSaved ? savedMs : unsavedMs);
  }

  /**
   * When too much is held, drops the texts of the oldest answers, those that the store has first.
   */
  #makeRoom(): void {
    for (const some of [this.#saved, this.#remembered.values()]) {
      for (const remembered of some) {
        if (this.#bytes <= maxBytes && this.#remembered.size <= maxAnswers) return;
        this.#strip(remembered);
      }
    }
  }

  /**
   * Drops an answer's texts; one that the store has, or that charged nothing, is forgotten
   * altogether.
   */
  #strip(remembered: RememberedAnswer): void {
    this.forget(remembered);
    const { answer, isSaved } = remembered;
    remembered.answer = { ...answer, headers: {}, body: new Uint8Array() };
    remembered.isBare = true;
    if (isSaved || answer.transactionId === null) return;
    this.#bare.add(remembered);
    const [oldest] = this.#bare;
    if (this.#bare.size > maxBare) this.#bare.delete(oldest!);
  }

  #drop(key: string): void {
    const remembered = this.#remembered.get(key);
    if (remembered === undefined) return;
    this.#bytes -= bytesOf(remembered.answer);
    this.#remembered.delete(key);
    this.#saved.delete(remembered);
  }
}

/** Bytes of an answer's body and headers, and of the ids of the calls whose text it repeats. */
function bytesOf({ body, headers, sources = [] }: StoredAnswer): number {
  const texts = [...Object.values(headers), ...sources];
  return texts.reduce((sum, text) => sum + text.length, body.length);
}

function copied(headers: StoredAnswer["headers"]): StoredAnswer["headers"] {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, copyOf(value)]));
}
