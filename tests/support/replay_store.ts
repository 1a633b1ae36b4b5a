import type { FakeClock } from "../../src/base/clock.ts";
import type {
  Claim,
  Finished,
  ReplayId,
  ReplayState,
  ReplayStore,
  StoredAnswer,
} from "../../src/idempotency/request_fingerprint.ts";
import { Fault } from "../../src/shared/fault.ts";

const claimMs = 30_000;
const keepMs = 24 * 60 * 60 * 1000;

interface Row {
  claim: Claim;
  holder: string;
  untilMs: number;
  answer: StoredAnswer | undefined;
}

/** A replay store of several processes, in memory and with a clock that tests move. */
export class FakeReplays {
  readonly rows = new Map<string, Row>();
  isAway = false;
  /** Ids of calls that were erased before an answer made from them is stored. */
  readonly erasedCalls = new Set<string>();
  /** Awaited before each statement. */
  delay: () => Promise<void> = () => Promise.resolve();
  statements = 0;

  constructor(readonly clock: FakeClock) {}

  /** Returns the store as one process sees it. */
  for(holder: string): ReplayStore {
    const statement = async <T>(act: () => T): Promise<T> => {
      this.statements++;
      await this.delay();
      if (this.isAway) throw new Fault("store_unavailable");
      return act();
    };
    return {
      claim: (claim) => statement(() => this.#claim(claim, holder)),
      find: (id) => statement(() => this.#look(id)),
      finish: (claim, answer) => statement(() => this.#finish(claim, holder, answer)),
      release: (claim) =>
        statement(() => {
          const row = this.rows.get(claim.key);
          const isOurs = row?.claim.claimId === claim.claimId && !row.answer;
          return isOurs && this.rows.delete(claim.key);
        }),
      renew: (claims) =>
        statement(() => {
          for (const { key, claimId } of claims) {
            const row = this.rows.get(key);
            if (!row || row.answer || row.claim.claimId !== claimId) continue;
            row.untilMs = this.#nowMs() + claimMs;
          }
        }),
      erase: (transactionIds) =>
        statement(() =>
          this.#remove(({ answer }) =>
            [answer?.transactionId, ...answer?.sources ?? []].some((id) =>
              transactionIds.includes(id ?? "")
            )
          )
        ),
      sweep: () => statement(() => this.#remove((row) => row.untilMs <= this.#nowMs())),
    };
  }

  #nowMs(): number {
    return this.clock.monotonicMs();
  }

  #live(key: string): Row | undefined {
    const row = this.rows.get(key);
    return row && row.untilMs > this.#nowMs() ? row : undefined;
  }

  #claim(claim: Claim, holder: string): ReplayState {
    const row = this.#live(claim.key);
    if (row && (row.answer || row.holder !== holder)) return this.#look(claim);
    const untilMs = this.#nowMs() + claimMs;
    this.rows.set(claim.key, { claim, holder, untilMs, answer: undefined });
    return { state: "free" };
  }

  #look(id: ReplayId): ReplayState {
    const row = this.#live(id.key);
    if (!row) return { state: "free" };
    if (row.claim.fingerprint !== id.fingerprint) return { state: "conflict" };
    return row.answer ? { state: "done", answer: row.answer } : { state: "running" };
  }

  #finish(claim: Claim, holder: string, answer: StoredAnswer): Finished {
    const row = this.#live(claim.key);
    if (row && row.claim.claimId !== claim.claimId) {
      if (!row.answer) return { state: "held" };
      if (row.claim.fingerprint !== claim.fingerprint) return { state: "conflict" };
      return { state: "duplicate", transactionId: row.answer.transactionId };
    }
    if (answer.sources?.some((id) => this.erasedCalls.has(id))) {
      this.rows.delete(claim.key);
      return { state: "stored", isGone: true };
    }
    this.rows.set(claim.key, { claim, holder, untilMs: this.#nowMs() + keepMs, answer });
    return { state: "stored" };
  }

  #remove(which: (row: Row) => boolean): number {
    const gone = [...this.rows].filter(([, row]) => which(row));
    for (const [key] of gone) this.rows.delete(key);
    return gone.length;
  }
}
