import type { Clock } from "../base/clock.ts";
import type { Measures } from "../shared/metrics.ts";
import type { ResolvedModel } from "../vendors/model_name.ts";

/** So many failures in a row cool a target, if they come within `windowMs`. */
const failuresToCool = 5;
const windowMs = 30_000;
/** How long a target is passed over, unless its `Retry-After` asks for more. */
const coolMs = 30_000;
/** No target cools longer, whatever its vendor asks for. */
const longestCoolMs = 60 * 60_000;
/** How long a target that nobody calls any more still counts as one that fails. */
const unansweredMs = 10 * 60_000;
/** A trial that nobody has ended is over after so long. */
const trialMs = 10 * 60_000;
/** Names come from callers: no more targets are remembered, and no more have a line of metrics. */
const maxTargets = 1_000;
const maxLines = 200;

/** A target whose last calls have failed. */
interface Troubled {
  readonly vendor: string;
  readonly model: string;
  /** Monotonic times of the last failures, oldest first. */
  failedMs: number[];
  /** When a trial may be made; undefined: the target is not cooling. */
  coolUntilMs: number | undefined;
  /** Since when one call has been trying it. */
  trialSinceMs: number | undefined;
}

/**
 * Which targets have failed lately. One that fails five times in a row within 30 s cools: it is
 * passed over while another one is left. Then one call tries it, on whose result it depends. In
 * memory, of this process alone; a target that answers is forgotten.
 */
export class TargetHealth {
  readonly #clock: Pick<Clock, "monotonicMs">;
  readonly #troubled = new Map<string, Troubled>();
  /** Label of a vendor → how often calls went on to another target. */
  readonly #fallbacks = new Map<string, number>();

  constructor(clock: Pick<Clock, "monotonicMs">) {
    this.#clock = clock;
  }

  /** Whether the target is passed over. False while a trial could begin. */
  isCooling({ id }: Pick<ResolvedModel, "id">): boolean {
    // Nearly always: nothing has failed.
    if (this.#troubled.size === 0) return false;
    const one = this.#troubled.get(id);
    return one !== undefined && this.#isPassedOver(one);
  }

  /** A call is about to ask the target. After a cooling time it is the one that tries it. */
  asked({ id }: Pick<ResolvedModel, "id">): void {
    const one = this.#troubled.size === 0 ? undefined : this.#troubled.get(id);
    if (one?.coolUntilMs !== undefined) one.trialSinceMs ??= this.#nowMs();
  }

  /** The target has answered, if only with what is wrong with the request. */
  answered({ id }: Pick<ResolvedModel, "id">): void {
    if (this.#troubled.size > 0) this.#troubled.delete(id);
  }

  /** The call ended without a word about the target. */
  released({ id }: Pick<ResolvedModel, "id">): void {
    const one = this.#troubled.get(id);
    if (one) one.trialSinceMs = undefined;
  }

  /** The target has failed; `retryAfterSeconds` is what its vendor asked for. */
  failed(target: ResolvedModel, retryAfterSeconds = 0): void {
    const nowMs = this.#nowMs();
    const one = this.#troubled.get(target.id) ?? this.#add(target);
    one.failedMs = [...one.failedMs.slice(1 - failuresToCool), nowMs];
    const isTrial = one.trialSinceMs !== undefined;
    one.trialSinceMs = undefined;
    const [first = nowMs] = one.failedMs;
    const isRow = one.failedMs.length === failuresToCool && nowMs - first <= windowMs;
    // Late failures of calls that began before don't prolong the time.
    const isCooling = one.coolUntilMs !== undefined && one.coolUntilMs > nowMs;
    if (isCooling || !(isTrial || isRow)) return;
    one.coolUntilMs = nowMs + Math.min(longestCoolMs, Math.max(coolMs, retryAfterSeconds * 1000));
  }

  /** A call went on from this target to another one. */
  passed({ vendor: { label } }: ResolvedModel): void {
    this.#fallbacks.set(label, (this.#fallbacks.get(label) ?? 0) + 1);
  }

  /** Whether some target of the vendor is passed over. */
  isVendorCooling(label: string): boolean {
    return this.#cooling().some(({ vendor }) => vendor === label);
  }

  /** Vendors with a target that has been cooling and has not answered since, for ten minutes more. */
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
        help: "Targets that are passed over since their last calls failed",
        labels: ["vendor", "model"],
        readAll: () =>
          this.#cooling().slice(0, maxLines).map(({ vendor, model }) => ({
            labels: { vendor, model: model.slice(0, 120) },
            value: 1,
          })),
      },
      gateway_fallbacks_total: {
        help: "Times that a call went on to another target, by the vendor that had failed",
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
