import { usageOf } from "../../faults/whole_calls/vendor.ts";
import { priceTables } from "../../faults/whole_calls/world.ts";

/** The model that each vendor is asked for. */
export const modelOf: Readonly<Record<string, string>> = {
  "vendor-b": "gpt-4.1",
  "vendor-c": "claude-haiku-4-5",
  "vendor-d": "gemini-2.5-flash",
};

/** More than is reserved for any call of a history, thinking included. */
export const boundNanos = 50_000_000n;

/** A call that was answered. */
export interface ModelCall {
  readonly id: string;
  readonly marker: string;
  readonly vendor: string;
  readonly keyId: string;
  readonly user: string;
  readonly at: Date;
  chargedNanos: bigint;
  /** Costs nothing at any price. */
  readonly isFree: boolean;
  isErased: boolean;
}

export type Per = "day" | "month";

/** A cap of a key or a budget. */
export interface Limit {
  readonly per: Per;
  /** Whether a call counts. */
  readonly counts: (call: Pick<ModelCall, "keyId" | "user">) => boolean;
  nanos: bigint;
  /** The most that it may have spent in a period by its limits so far, and what nobody held. */
  highestNanos: bigint;
  /** Earlier calls and what they count: their charge of then, or 0 if they were erased. */
  readonly earlier: ReadonlyMap<string, bigint>;
}

/** Plain sums, by which an account must have what it has. */
export class AccountModel {
  readonly calls: ModelCall[] = [];
  grantedNanos = 0n;
  deductedNanos = 0n;
  /** By how much repricing has raised charges, which no limit holds back. */
  raisedNanos = 0n;
  readonly limits = new Map<string, Limit>();

  get chargedNanos(): bigint {
    return sum(this.calls);
  }

  get balanceNanos(): bigint {
    return this.grantedNanos - this.deductedNanos - this.chargedNanos;
  }

  spentNanos({ per, counts, earlier }: Limit, at: Date): bigint {
    return this.calls.filter((call) => counts(call) && startOf(per, call.at) === startOf(per, at))
      .reduce((total, call) => total + (earlier.get(call.id) ?? call.chargedNanos), 0n);
  }

  /** The least of what is left for a call: of the balance, and under each limit that counts it. */
  leftNanos(call: Pick<ModelCall, "keyId" | "user" | "at">): bigint {
    const left = [...this.limits.values()].filter((limit) => limit.counts(call))
      .map((limit) => limit.nanos - this.spentNanos(limit, call.at));
    return [this.balanceNanos, ...left].reduce((least, each) => each < least ? each : least);
  }

  setLimit(
    name: string,
    nanos: bigint,
    made: Pick<Limit, "per" | "counts"> & { seesErased: boolean },
    at: Date,
  ): void {
    const before = this.limits.get(name);
    if (before) {
      before.nanos = nanos;
      if (nanos > before.highestNanos) before.highestNanos = nanos;
      return;
    }
    const earlier = new Map(this.calls.map(({ id, chargedNanos, isErased }) => [
      id,
      isErased && !made.seesErased ? 0n : chargedNanos,
    ]));
    const limit: Limit = { ...made, nanos, highestNanos: nanos, earlier };
    const spent = this.spentNanos(limit, at);
    if (spent > nanos) limit.highestNanos = spent;
    this.limits.set(name, limit);
  }

  reprice(table: number): void {
    for (const call of this.calls) {
      if (call.isErased || call.isFree) continue;
      const nanos = costNanos(call, table);
      if (nanos > call.chargedNanos) this.raisedNanos += nanos - call.chargedNanos;
      call.chargedNanos = nanos;
    }
  }

  /** What was charged beyond credit and limits. */
  overspent(at: Date): string[] {
    const found = [...this.limits].filter(([, limit]) =>
      this.spentNanos(limit, at) > limit.highestNanos + this.raisedNanos
    ).map(([name, limit]) => `${name}: ${this.spentNanos(limit, at)} of ${limit.highestNanos}`);
    const isOverdrawn = this.chargedNanos > this.grantedNanos + this.raisedNanos;
    return isOverdrawn ? [...found, `overdrawn: ${this.chargedNanos}`] : found;
  }

  /** Charges by day of UTC; those of erased calls are in it. */
  byDay(): Map<string, bigint> {
    return new Map(
      [...Map.groupBy(this.calls, ({ at }) => startOf("day", at))].map(([day, calls]) => [
        day,
        sum(calls),
      ]),
    );
  }
}

const sum = (calls: readonly ModelCall[]) =>
  calls.reduce((total, { chargedNanos }) => total + chargedNanos, 0n);

export const startOf = (per: Per, at: Date) =>
  at.toISOString().slice(0, per === "day" ? 10 : 7) + (per === "day" ? "" : "-01");

/** The price by a table of what the vendor reports for the call. */
export function costNanos(call: Pick<ModelCall, "marker" | "vendor">, table: number): bigint {
  const price = priceTables[table]![`${call.vendor}/${modelOf[call.vendor]}`]!;
  const { input, output } = usageOf(call.marker);
  return (BigInt(input) * BigInt(price.input) + BigInt(output) * BigInt(price.output!)) * 1000n;
}
