import type { CallTiming, InteractionStatus, Mode, SettledCall } from "./interaction.ts";

/** A value as prom-client prints it and adds it up over processes. */
export interface MetricValue {
  labels: Readonly<Record<string, string | number>>;
  value: number;
  /** Of a histogram: the metric's name with `_bucket`, `_sum` or `_count`. */
  metricName?: string;
}

/** A metric that computes its values when it is read. */
export interface MetricFamily {
  name: string;
  help: string;
  type: "counter" | "histogram";
  values(): MetricValue[];
}

/** The counts of a histogram for one set of labels. */
export class Buckets {
  readonly #bounds: readonly number[];
  readonly #counts: Float64Array;
  #sum = 0;
  #count = 0;

  /** `bounds` are the upper bounds, rising. */
  constructor(bounds: readonly number[]) {
    this.#bounds = bounds;
    this.#counts = new Float64Array(bounds.length + 1);
  }

  observe(value: number): void {
    const bounds = this.#bounds;
    let at = 0;
    while (at < bounds.length && value > bounds[at]!) at++;
    this.#counts[at]!++;
    this.#sum += value;
    this.#count++;
  }

  values(name: string, labels: MetricValue["labels"]): MetricValue[] {
    if (this.#count === 0) return [];
    const bucket = `${name}_bucket`;
    let below = 0;
    const values: MetricValue[] = this.#bounds.map((le, at) => {
      below += this.#counts[at]!;
      return { metricName: bucket, labels: { le, ...labels }, value: below };
    });
    values.push({ metricName: bucket, labels: { le: "+Inf", ...labels }, value: this.#count });
    values.push({ metricName: `${name}_sum`, labels, value: this.#sum });
    values.push({ metricName: `${name}_count`, labels, value: this.#count });
    return values;
  }
}

/** Without `interrupted`: calls of a process that died are never settled. */
const statuses: readonly InteractionStatus[] = ["completed", "failed", "truncated", "cancelled"];
const modes: readonly Mode[] = ["managed", "stored_key", "dual_key"];
/** `input` and `output` are totals; the others are parts of them. */
const kinds = ["input", "output", "cache_read", "cache_write", "reasoning"] as const;

/** In seconds; the gateway's own work takes about a millisecond. */
const overheadBounds = [
  ...[0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10],
];
const vendorBounds = [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 30, 60, 120, 300, 600];
const firstTokenBounds = [0.05, 0.1, 0.25, 0.5, 1, 2, 3, 5, 10, 20, 30, 60, 120];

/**
 * The figures of one vendor and model. Counting a call only adds numbers; it creates no strings.
 */
class TargetFigures {
  readonly calls = new Float64Array(statuses.length);
  readonly tokens = new Float64Array(kinds.length);
  readonly costUsd = new Float64Array(modes.length);
  readonly overhead = new Buckets(overheadBounds);
  readonly vendor = new Buckets(vendorBounds);
  readonly firstToken = new Buckets(firstTokenBounds);

  constructor(readonly labels: { vendor: string; model: string }) {}

  add(call: SettledCall, { overheadMs, vendorMs, firstTokenMs }: CallTiming): void {
    this.calls[statuses.indexOf(call.status)]!++;
    this.overhead.observe(overheadMs / 1000);
    this.vendor.observe(vendorMs / 1000);
    if (firstTokenMs !== undefined) this.firstToken.observe(firstTokenMs / 1000);
    const { tokens } = this;
    tokens[0]! += call.inputTokens ?? 0;
    tokens[1]! += call.outputTokens ?? 0;
    tokens[2]! += call.cacheReadTokens ?? 0;
    tokens[3]! += call.cacheWriteTokens ?? 0;
    tokens[4]! += call.reasoningTokens ?? 0;
    if (call.costNanos) this.costUsd[modes.indexOf(call.mode)]! += Number(call.costNanos) / 1e9;
  }
}

/** Figures that are counted by vendor only. */
interface BillingFigures {
  cacheHits: number;
  unpriced: number;
  disputed: number;
  reportedUsd: number;
  listUsd: number;
}

const noBilling: BillingFigures = {
  cacheHits: 0,
  unpriced: 0,
  disputed: 0,
  reportedUsd: 0,
  listUsd: 0,
};

function addBilling(figures: BillingFigures, call: SettledCall): void {
  if (call.billingBasis === "disputed") figures.disputed++;
  if (call.totalTokens === null) return;
  if (call.listCostUsd !== undefined) {
    figures.reportedUsd += Number(call.costNanos) / 1e9;
    figures.listUsd += Number(call.listCostUsd);
  }
  // Tokens without a cost would lose money unnoticed.
  if (!call.costNanos && call.totalTokens > 0) figures.unpriced++;
}

/** Max models with a label of their own; calls of all others count under `other`. */
export const maxModelLabels = 200;
const otherModel = "other";

/**
 * Counts settled calls by vendor and model. A model gets a label of its own with its first call that
 * was completed or that has a price, so that invented names take none.
 */
export class CallMetrics {
  readonly #byVendor = new Map<string, Map<string, TargetFigures>>();
  readonly #billing = new Map<string, BillingFigures>();
  #models = 0;

  settled(call: SettledCall, timing: CallTiming): void {
    const { vendor } = call;
    let billing = this.#billing.get(vendor);
    if (!billing) this.#billing.set(vendor, billing = { ...noBilling });
    if (call.cache === "hit") {
      billing.cacheHits++;
      return;
    }
    this.#figuresOf(call).add(call, timing);
    addBilling(billing, call);
  }

  #figuresOf({ vendor, model, status, priceVersion }: SettledCall): TargetFigures {
    let models = this.#byVendor.get(vendor);
    if (!models) this.#byVendor.set(vendor, models = new Map());
    const found = models.get(model);
    if (found) return found;
    const isReal = status === "completed" || priceVersion !== null;
    if (isReal && this.#models < maxModelLabels && model.length <= maxLabelUnits) {
      this.#models++;
      return this.#add(models, vendor, model);
    }
    return models.get(otherModel) ?? this.#add(models, vendor, otherModel);
  }

  #add(models: Map<string, TargetFigures>, vendor: string, model: string): TargetFigures {
    const figures = new TargetFigures({ vendor, model });
    models.set(model, figures);
    return figures;
  }

  families(): MetricFamily[] {
    return [
      this.#counter(
        "gateway_calls_total",
        "Settled calls by vendor, model and outcome, without answers from the cache",
        "status",
        statuses,
        ({ calls }) => calls,
        // Shows zeros: if a series began with its first failure, queries would see no increase.
        true,
      ),
      this.#counter(
        "gateway_tokens_total",
        "Tokens by kind: input and output are totals; cache_read, cache_write and reasoning are parts of them",
        "kind",
        kinds,
        ({ tokens }) => tokens,
      ),
      this.#counter(
        "gateway_cost_usd_total",
        "Cost of calls in US dollars; approximate, the ledger is exact",
        "mode",
        modes,
        ({ costUsd }) => costUsd,
      ),
      this.#histogram(
        "gateway_overhead_seconds",
        "Time added by the gateway, without vendor time and request upload",
        ({ overhead }) => overhead,
      ),
      this.#histogram(
        "gateway_vendor_seconds",
        "Time during which a request of the call to a vendor was in flight, including retries and answers",
        ({ vendor }) => vendor,
      ),
      this.#histogram(
        "gateway_time_to_first_token_seconds",
        "Time from a request's arrival to the first token of its answer",
        ({ firstToken }) => firstToken,
      ),
      ...this.#billingFamilies(),
    ];
  }

  #targets(): TargetFigures[] {
    return [...this.#byVendor.values()].flatMap((models) => [...models.values()]);
  }

  #counter(
    name: string,
    help: string,
    label: string,
    names: readonly string[],
    counts: (one: TargetFigures) => Float64Array,
    showsZeros = false,
  ): MetricFamily {
    const valuesOf = (one: TargetFigures) =>
      names.map((each, at) => ({
        labels: { ...one.labels, [label]: each },
        value: counts(one)[at]!,
      })).filter(({ value }) => value > 0 || showsZeros);
    return { name, help, type: "counter", values: () => this.#targets().flatMap(valuesOf) };
  }

  #histogram(name: string, help: string, buckets: (one: TargetFigures) => Buckets): MetricFamily {
    const valuesOf = (one: TargetFigures) => buckets(one).values(name, one.labels);
    return { name, help, type: "histogram", values: () => this.#targets().flatMap(valuesOf) };
  }

  #billingFamilies(): MetricFamily[] {
    const byVendor = (
      name: string,
      help: string,
      read: (one: BillingFigures) => number,
    ): MetricFamily => ({
      ...{ name, help, type: "counter" },
      values: () =>
        [...this.#billing].map(([vendor, one]) => ({ labels: { vendor }, value: read(one) })),
    });
    return [
      byVendor(
        "gateway_cache_hits_total",
        "Calls that the response cache answered, by the vendor of the cached answer",
        ({ cacheHits }) => cacheHits,
      ),
      byVendor(
        "gateway_unpriced_calls_total",
        "Calls with tokens but without a known price, or with a cost of zero",
        ({ unpriced }) => unpriced,
      ),
      byVendor(
        "gateway_disputed_charges_total",
        "Calls whose vendor reported more than ten times the authorized amount",
        ({ disputed }) => disputed,
      ),
      {
        name: "gateway_vendor_reported_cost_usd_total",
        help:
          "Cost of calls whose vendor reported it: as reported (by=vendor) and at its price list (by=list)",
        type: "counter",
        values: () =>
          [...this.#billing].flatMap(([vendor, { reportedUsd, listUsd }]) =>
            reportedUsd === 0 && listUsd === 0 ? [] : [
              { labels: { vendor, by: "vendor" }, value: reportedUsd },
              { labels: { vendor, by: "list" }, value: listUsd },
            ]
          ),
      },
    ];
  }
}

/** A model with a longer name gets no label of its own. */
const maxLabelUnits = 120;
const requestBounds = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120];

/** Counts answered requests by route. Routes are path templates, so there are few. */
export class RequestMetrics {
  readonly #routes = new Map<string, { statuses: Map<number, number>; seconds: Buckets }>();

  answered(route: string, status: number, seconds: number): void {
    let figures = this.#routes.get(route);
    if (!figures) {
      this.#routes.set(
        route,
        figures = { statuses: new Map(), seconds: new Buckets(requestBounds) },
      );
    }
    figures.statuses.set(status, (figures.statuses.get(status) ?? 0) + 1);
    figures.seconds.observe(seconds);
  }

  families(): MetricFamily[] {
    const seconds = "gateway_request_seconds";
    return [
      {
        name: "gateway_requests_total",
        help: "Answered requests by route and HTTP status",
        type: "counter",
        values: () =>
          [...this.#routes].flatMap(([route, { statuses }]) =>
            [...statuses].map(([status, value]) => ({
              labels: { route, status: String(status) },
              value,
            }))
          ),
      },
      {
        name: seconds,
        help: "Time from a request's arrival to the last byte of its response",
        type: "histogram",
        values: () =>
          [...this.#routes].flatMap(([route, figures]) =>
            figures.seconds.values(seconds, { route })
          ),
      },
    ];
  }
}
