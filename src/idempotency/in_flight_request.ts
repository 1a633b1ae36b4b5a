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
  /** What everyone who waited for it gets; absent when it came to nothing. */
  answer: StoredAnswer | undefined;
  readonly #decided = Promise.withResolvers<void>();
  readonly #ended = Promise.withResolvers<void>();

  constructor(claim: Claim) {
    this.claim = claim;
  }

  /** Resolves when it is confirmed or has ended. */
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
