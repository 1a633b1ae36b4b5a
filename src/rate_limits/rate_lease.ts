import { graceMs, type LeaseAnswer, unitsPerToken } from "./rate_limit.ts";

/**
 * The tokens of one bucket that one process holds and spends without asking. Without contact to the
 * database it issues tokens itself, at its share of the rate. Times are monotonic milliseconds, so
 * that a jump of the wall clock issues no tokens.
 */
export class RateLease {
  spent = 0;
  /** `spent` in the last report that was answered. */
  reported = 0;
  #units = 0;
  #share = 0;
  #ceiling = 0;
  #issueFromMs = Infinity;
  #issuedToMs = 0;
  #expiresAtMs = -Infinity;
  #isFrozen = false;
  /** Name under which the database knows its process. */
  process: string | undefined;

  constructor(readonly id: string) {}

  units(nowMs: number): number {
    if (nowMs >= this.#expiresAtMs) return 0;
    this.#issue(nowMs);
    return this.#units;
  }

  /** Whole tokens in hand. */
  tokens(nowMs: number): number {
    return Math.floor(this.units(nowMs) / unitsPerToken);
  }

  /** What the last answer allows this process to issue itself. */
  get selfIssue(): { share: number; ceiling: number } {
    return { share: this.#share, ceiling: this.#ceiling };
  }

  /**
   * From when on it issues tokens itself, unless a heartbeat or report comes before (monotonic ms).
   */
  get issuesFromMs(): number {
    return this.#issueFromMs;
  }

  isLive(nowMs: number): boolean {
    return nowMs < this.#expiresAtMs;
  }

  spend(nowMs: number): boolean {
    if (this.tokens(nowMs) < 1) return false;
    this.#units -= unitsPerToken;
    this.spent++;
    return true;
  }

  /**
   * Drops all but this many whole tokens, before a report returns the rest. A part of a token goes
   * back too: if the answer is lost, it would be both here and there.
   */
  keepOnly(tokens: number): void {
    this.#units = Math.min(Math.floor(this.#units / unitsPerToken), tokens) * unitsPerToken;
  }

  /**
   * A report goes out under this name. Whether or not it's answered, the database may count the
   * silence of that name as this lease's from now on.
   */
  reportsAs(process: string, nowMs: number): void {
    if (this.process === process) return;
    this.#issue(nowMs);
    this.process = process;
    this.#issueFromMs = nowMs + graceMs;
  }

  /** Applies the store's answer to the report `asked`: tokens granted, minus those spent since it was sent. */
  accept(
    answer: LeaseAnswer,
    asked: { atMs: number; spent: number },
    nowMs: number,
    leaseMs: number,
  ): void {
    // The database counts a new lease's silence from when it is written.
    if (this.#expiresAtMs === -Infinity) this.#issueFromMs = nowMs + graceMs;
    this.#units = Math.max(0, answer.tokens - (this.spent - asked.spent)) * unitsPerToken;
    this.reported = asked.spent;
    this.#share = answer.share;
    this.#ceiling = answer.ceiling;
    this.#issuedToMs = nowMs;
    // Ends a little earlier here: two clocks never run quite alike.
    this.#expiresAtMs = asked.atMs + leaseMs * 0.9;
  }

  /** A heartbeat reached the database, or may have, at this time (monotonic ms) at the latest. */
  onHeartbeat(nowMs: number): void {
    this.#issue(nowMs);
    this.#issueFromMs = nowMs + graceMs;
    this.#isFrozen = false;
  }

  /** A heartbeat is under way: until it has ended nothing is issued. */
  pause(nowMs: number): void {
    this.#issue(nowMs);
    this.#isFrozen = true;
  }

  /** Milliseconds until it has issued a token itself; Infinity if it never will. */
  nextTokenMs(nowMs: number): number {
    if (this.tokens(nowMs) > 0) return 0;
    if (this.#share === 0 || this.#ceiling < unitsPerToken) return Infinity;
    const waitMs = Math.max(0, this.#issueFromMs - nowMs) +
      Math.ceil((unitsPerToken - this.#units) / this.#share);
    return nowMs + waitMs < this.#expiresAtMs ? waitMs : Infinity;
  }

  #issue(nowMs: number): void {
    const fromMs = Math.max(this.#issuedToMs, this.#issueFromMs);
    if (this.#isFrozen || nowMs <= fromMs) return;
    this.#issuedToMs = nowMs;
    const endMs = Math.min(nowMs, this.#expiresAtMs);
    if (this.#units >= this.#ceiling || endMs <= fromMs) return;
    const issued = Math.floor(this.#share * (endMs - fromMs));
    this.#units = Math.min(this.#ceiling, this.#units + issued);
  }
}
