import { usageOf } from "../../faults/whole_calls/vendor.ts";
import { priceTables } from "../../faults/whole_calls/world.ts";

/** More than is reserved for any call of a history, thinking included. */
export const boundNanos = 50_000_000n;

/** A call that was answered. */
export interface ModelCall {
  readonly id: string;
  readonly marker: string;
  /** The model that answered, with its vendor. */
  readonly model: string;
  readonly keyId: string;
  readonly user: string;
  readonly app: string | undefined;
  readonly at: Date;
  chargedNanos: bigint;
  /** Costs nothing at any price. */
  readonly isFree: boolean;
  /** The call that an evaluation repeated, with which this one is erased. */
  readonly sourceId: string | undefined;
  isErased: boolean;
}

export type Per = "day" | "month";
/** What limits look at. */
export type Counted = Pick<ModelCall, "keyId" | "user" | "app">;

/** A limit that holds until a moment, instead of the usual one. */
export interface Raise {
  readonly nanos: bigint;
  readonly until: Date;
}

/** A cap of a key or a budget. */
export interface Limit {
  readonly per: Per;
  /** Whether a call counts. */
  readonly counts: (call: Counted) => boolean;
  nanos: bigint;
  raise: Raise | undefined;
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
  leftNanos(call: Counted & Pick<ModelCall, "at">): bigint {
    const left = [...this.limits.values()].filter((limit) => limit.counts(call))
      .map((limit) => nanosAt(limit, call.at) - this.spentNanos(limit, call.at));
    return [this.balanceNanos, ...left].reduce((least, each) => each < least ? each : least);
  }

  setLimit(
    name: string,
    nanos: bigint,
    { raise, ...made }: Pick<Limit, "per" | "counts"> & { seesErased: boolean; raise?: Raise },
    at: Date,
  ): void {
    const before = this.limits.get(name);
    const highest = raise && raise.nanos > nanos ? raise.nanos : nanos;
    if (before) {
      Object.assign(before, { nanos, raise });
      if (highest > before.highestNanos) before.highestNanos = highest;
      return;
    }
    const earlier = new Map(this.calls.map(({ id, chargedNanos, isErased }) => [
      id,
      isErased && !made.seesErased ? 0n : chargedNanos,
    ]));
    const limit: Limit = { ...made, nanos, raise, highestNanos: highest, earlier };
    const spent = this.spentNanos(limit, at);
    if (spent > highest) limit.highestNanos = spent;
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

const nanosAt = ({ nanos, raise }: Limit, at: Date) =>
  raise && at < raise.until ? raise.nanos : nanos;

/** The price by a table of what the vendor reports for the call, rounded once, half up. */
export function costNanos({ marker, model }: Pick<ModelCall, "marker" | "model">, table: number) {
  const price = priceTables[table]![model]!;
  const { input, output } = usageOf(marker);
  const pico = BigInt(input) * picoPerToken(price.input) +
    BigInt(price.output === undefined ? 0 : output) * picoPerToken(price.output ?? "0");
  return (pico + 500n) / 1000n;
}

/** Of a price per million tokens. */
function picoPerToken(usd: string): bigint {
  const [whole = "", fraction = ""] = usd.split(".");
  return BigInt(whole + fraction.padEnd(6, "0"));
}
