import type { Clock } from "../base/clock.ts";
import { least } from "../base/lists.ts";
import type { Log } from "../base/log.ts";
import type { Secret } from "../base/secret.ts";
import type { LabelledMeasure } from "../shared/metrics.ts";
import type { Vendor } from "./registry.ts";

/** Why a key is paused. */
export type KeyTrouble = "limited" | "refused" | "out_of_quota";

export interface PooledKey {
  readonly secret: Secret;
  /** Its position among the configured keys, `#1` for the first. Keys have no other name. */
  readonly name: string;
  /** The key is paused, and was taken because all of them are. */
  readonly isPaused: boolean;
}

/** How long a limited key is paused if the vendor doesn't say. */
const limitedMs = 10_000;
/** How long a key is paused that is refused or out of quota. */
const brokenMs = 5 * 60_000;
/** The longest pause, whatever the vendor asks for. */
const longestRestMs = 60 * 60_000;

/**
 * The service's keys for one vendor, where it has several. Calls take them in turn; a key that the
 * vendor has refused is paused. Kept in memory, per process.
 */
export class KeyPool {
  readonly #vendor: string;
  readonly #clock: Clock;
  readonly #log: Pick<Log, "info" | "warn">;
  readonly #keys: readonly { secret: Secret; name: string }[];
  /** Monotonic time at which each key's pause ends. */
  readonly #endsMs: number[];
  /** Why each key was last paused. */
  readonly #troubles: (KeyTrouble | undefined)[] = [];
  #next = 0;

  constructor(
    vendor: string,
    secrets: readonly Secret[],
    { clock, log }: { clock: Clock; log: Pick<Log, "info" | "warn"> },
  ) {
    this.#vendor = vendor;
    this.#clock = clock;
    this.#log = log;
    this.#keys = secrets.map((secret, index) => ({ secret, name: `#${index + 1}` }));
    this.#endsMs = secrets.map(() => -Infinity);
  }

  /**
   * Returns the key for a call's first request: the next in turn, or, if all are paused, the one
   * whose pause ends first.
   */
  take(): PooledKey {
    return this.takeAnother([]) ?? this.#pooled(this.#firstUnpaused());
  }

  /** The next key in turn that is neither paused nor one of `used`; undefined: none is left. */
  takeAnother(used: readonly PooledKey[]): PooledKey | undefined {
    const index = this.#findUnpaused(used);
    if (index === undefined) return undefined;
    this.#next = (index + 1) % this.#keys.length;
    return this.#pooled(index);
  }

  /** Whether `takeAnother` would give a key. */
  hasAnother(used: readonly PooledKey[]): boolean {
    return this.#findUnpaused(used) !== undefined;
  }

  /**
   * Pauses a key that the vendor has refused. `retryAfterMs`: the wait that the vendor asked
   * for, which counts for limited keys only.
   */
  pause({ name }: PooledKey, trouble: KeyTrouble, retryAfterMs?: number): void {
    const ms = trouble === "limited"
      ? Math.min(retryAfterMs ?? limitedMs, longestRestMs)
      : brokenMs;
    this.#endsMs[this.#indexOf(name)] = this.#nowMs() + ms;
    this.#troubles[this.#indexOf(name)] = trouble;
    const fields = { vendor: this.#vendor, key: name, reason: trouble, seconds: ms / 1000 };
    this.#log.warn("a vendor key is paused", fields);
  }

  /** Ends the pause of a key that the vendor has accepted. */
  answered({ name, isPaused }: PooledKey): void {
    const index = this.#indexOf(name);
    // An answer to a request sent before the pause says nothing about it.
    if (!isPaused || this.#endsMs[index]! <= this.#nowMs()) return;
    this.#endsMs[index] = -Infinity;
    this.#log.info("a vendor key works again", { vendor: this.#vendor, key: name });
  }

  get states(): { name: string; isPaused: boolean }[] {
    const nowMs = this.#nowMs();
    return this.#keys.map(({ name }, index) => ({ name, isPaused: this.#endsMs[index]! > nowMs }));
  }

  /**
   * How long until a key can be used that isn't refused or out of quota; undefined: all keys are.
   */
  get waitMs(): number | undefined {
    const nowMs = this.#nowMs();
    const waits = this.#endsMs.map((endMs) => Math.max(0, endMs - nowMs))
      .filter((ms, index) => ms === 0 || this.#troubles[index] === "limited");
    return waits.length === 0 ? undefined : least(waits);
  }

  #findUnpaused(used: readonly PooledKey[]): number | undefined {
    const nowMs = this.#nowMs();
    for (let step = 0; step < this.#keys.length; step++) {
      const index = (this.#next + step) % this.#keys.length;
      const { name } = this.#keys[index]!;
      if (this.#endsMs[index]! <= nowMs && !used.some((one) => one.name === name)) return index;
    }
    return undefined;
  }

  #firstUnpaused(): number {
    return this.#endsMs.indexOf(least(this.#endsMs));
  }

  #pooled(index: number): PooledKey {
    return { ...this.#keys[index]!, isPaused: this.#endsMs[index]! > this.#nowMs() };
  }

  #indexOf(name: string): number {
    return this.#keys.findIndex((one) => one.name === name);
  }

  #nowMs(): number {
    return this.#clock.monotonicMs();
  }
}

export interface KeyPools {
  /** Undefined for a vendor with fewer than two keys: an only key is never paused. */
  of(vendor: Vendor): KeyPool | undefined;
  readonly gauges: Readonly<Record<string, LabelledMeasure>>;
}

export function createKeyPools({ vendors, clock, log }: {
  vendors: readonly Vendor[];
  clock: Clock;
  log: Pick<Log, "info" | "warn">;
}): KeyPools {
  const pools = new Map<string, KeyPool>();
  /** Vendors that share their keys share the pool. */
  const byKeys = new Map<readonly Secret[], KeyPool>();
  for (const { label, apiKeys } of vendors) {
    if (apiKeys.length < 2) continue;
    const pool = byKeys.get(apiKeys) ?? new KeyPool(label, apiKeys, { clock, log });
    byKeys.set(apiKeys, pool);
    pools.set(label, pool);
  }
  return {
    of: ({ label }) => pools.get(label),
    gauges: {
      gateway_vendor_key_resting: {
        overWorkers: "max",
        help: "1 while a vendor's key is paused, 0 while it is in use (vendors with several keys)",
        labels: ["vendor", "key"],
        readAll: () =>
          [...pools].flatMap(([vendor, pool]) =>
            pool.states.map(({ name, isPaused }) => ({
              labels: { vendor, key: name },
              value: isPaused ? 1 : 0,
            }))
          ),
      },
    },
  };
}
