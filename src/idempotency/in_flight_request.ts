import type { Claim, StoredAnswer } from "./request_fingerprint.ts";

/** One attempt of this process at answering a request; repeats wait for it. */
export class InFlightRequest {
  readonly claim: Claim;
  /** The id is known to be used for this attempt's body, here or in another process. */
  isConfirmed = false;
  /** The store knows of this attempt. */
  isClaimed = false;
  isRunning = false;
  hasEnded = false;
  /** What all repeats that waited get; absent when the attempt gave no answer to keep. */
  answer: StoredAnswer | undefined;
  readonly #decided = Promise.withResolvers<void>();
  readonly #ended = Promise.withResolvers<void>();

  constructor(claim: Claim) {
    this.claim = claim;
  }

  /** Resolves when the attempt is confirmed or has ended. */
  get decided(): Promise<void> {
    return this.#decided.promise;
  }

  get ended(): Promise<void> {
    return this.#ended.promise;
  }

  confirm(): void {
    this.isConfirmed = true;
    this.#decided.resolve();
  }

  end(answer: StoredAnswer | undefined): void {
    this.answer = answer;
    this.hasEnded = true;
    this.#decided.resolve();
    this.#ended.resolve();
  }
}
