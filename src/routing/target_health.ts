import type { Clock } from "../base/clock.ts";
import type { Measures } from "../shared/metrics.ts";
import type { ResolvedModel } from "../vendors/model_name.ts";

/** This many failures in a row cool a target, if they come within `windowMs`. */
const failuresToCool = 5;
const windowMs = 30_000;
/** How long a target is passed over, unless its `Retry-After` asks for more. */
const coolMs = 30_000;
/** No target cools longer, whatever its vendor asks for. */
const longestCoolMs = 60 * 60_000;
/** How long a target that has cooled and gets no calls still counts as failing. */
const unansweredMs = 10 * 60_000;
/** How long a trial counts that has no result. */
const trialMs = 10 * 60_000;
/** Caps on remembered targets and on their lines of metrics, since callers choose their names. */
const maxTargets = 1_000;
const maxLines = 200;

/** A target whose last calls have failed. */
interface Troubled {
  readonly vendor: string;
  readonly model: string;
  /** Monotonic times of the last failures, oldest first. */
  failedMs: number[];
  /** When a trial may be made (monotonic ms); undefined: the target is not cooling. */
  coolUntilMs: number | undefined;
  /** Since when a call has been trying it (monotonic ms). */
  trialSinceMs: number | undefined;
}

/**
 * Knows which targets have failed lately. One that fails five times in a row within 30 s cools: it
 * is passed over while there is another one. Then one call tries it, and its result decides. Kept
 * in memory, per process; a target that answers is forgotten.
 */
export class TargetHealth {
  readonly #clock: Pick<Clock, "monotonicMs">;
  readonly #troubled = new Map<string, Troubled>();
  /** Label of a vendor → how often calls went on to another target. */
  readonly #fallbacks = new Map<string, number>();

  constructor(clock: Pick<Clock, "monotonicMs">) {
    this.#clock = clock;
  }

  /** Whether the target is passed over. False once a trial may begin. */
  isCooling({ id }: Pick<ResolvedModel, "id">): boolean {
    const one = this.#troubled.get(id);
    return one !== undefined && this.#isPassedOver(one);
  }

  /**
   * Called when a call is about to ask the target. After the cooling time this call is the trial.
   */
  asked({ id }: Pick<ResolvedModel, "id">): void {
    const one = this.#troubled.get(id);
    if (one?.coolUntilMs !== undefined) one.trialSinceMs ??= this.#nowMs();
  }

  /** Called when the target has answered, if only to reject the request. */
  answered({ id }: Pick<ResolvedModel, "id">): void {
    this.#troubled.delete(id);
  }

  /** Called when a call ended without showing whether the target works. */
  released({ id }: Pick<ResolvedModel, "id">): void {
    const one = this.#troubled.get(id);
    if (one) one.trialSinceMs = undefined;
  }

  /** Called when the target has failed. `retryAfterSeconds`: the wait that its vendor asked for. */
  failed(target: ResolvedModel, retryAfterSeconds = 0): void {
    const nowMs = this.#nowMs();
    const one = this.#troubled.get(target.id) ?? this.#add(target);
    one.failedMs = [...one.failedMs.slice(1 - failuresToCool), nowMs];
    const isTrial = one.trialSinceMs !== undefined;
    one.trialSinceMs = undefined;
    const [first = nowMs] = one.failedMs;
    const isRow = one.failedMs.length === failuresToCool && nowMs - first <= windowMs;
    // Late failures of calls from before the cooling don't prolong it.
    const isCooling = one.coolUntilMs !== undefined && one.coolUntilMs > nowMs;
    if (isCooling || !(isTrial || isRow)) return;
    one.coolUntilMs = nowMs + Math.min(longestCoolMs, Math.max(coolMs, retryAfterSeconds * 1000));
  }

  /** Called when a call has gone on from this target to another one. */
  passed({ vendor: { label } }: ResolvedModel): void {
    this.#fallbacks.set(label, (this.#fallbacks.get(label) ?? 0) + 1);
  }

  /** Whether some target of the vendor is passed over. */
  isVendorCooling(label: string): boolean {
    return this.#cooling().some(({ vendor }) => vendor === label);
  }

  /**
   * Vendors with a target that is cooling, or that has cooled in the last ten minutes and not
   * answered since.
   */
  get downVendors(): string[] {
    const nowMs = this.#nowMs();
    const down = [...this.#troubled.values()].filter(({ coolUntilMs }) =>
      coolUntilMs !== undefined && nowMs < coolUntilMs + unansweredMs
    );
    return [...new Set(down.map(({ vendor }) => vendor))];
  }

  get measures(): Measures {
    return {
      gateway_target_cooling: {
        overWorkers: "max",
        help: "Targets that are skipped because their last calls failed",
        labels: ["vendor", "model"],
        readAll: () =>
          this.#cooling().slice(0, maxLines).map(({ vendor, model }) => ({
            labels: { vendor, model: model.slice(0, 120) },
            value: 1,
          })),
      },
      gateway_fallbacks_total: {
        help: "Times that a call was sent to another target, by the vendor that failed",
        kind: "counter",
        labels: ["vendor"],
        readAll: () =>
          [...this.#fallbacks].map(([vendor, value]) => ({ labels: { vendor }, value })),
      },
    };
  }

  #isPassedOver({ coolUntilMs, trialSinceMs }: Troubled): boolean {
    if (coolUntilMs === undefined) return false;
    const nowMs = this.#nowMs();
    return nowMs < coolUntilMs || (trialSinceMs !== undefined && nowMs - trialSinceMs < trialMs);
  }

  #cooling(): Troubled[] {
    return [...this.#troubled.values()].filter((one) => this.#isPassedOver(one));
  }

  #add({ id, vendor, model }: ResolvedModel): Troubled {
    if (this.#troubled.size >= maxTargets) {
      this.#troubled.delete(this.#troubled.keys().next().value!);
    }
    const one: Troubled = {
      ...{ vendor: vendor.label, model, failedMs: [] },
      ...{ coolUntilMs: undefined, trialSinceMs: undefined },
    };
    this.#troubled.set(id, one);
    return one;
  }

  #nowMs(): number {
    return this.#clock.monotonicMs();
  }
}
