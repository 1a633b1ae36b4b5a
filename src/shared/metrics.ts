import { Counter, Gauge, Histogram, Registry } from "prom-client";

/** The service's metrics in the Prometheus text format; labels never hold content. */
export interface Metrics {
  readonly requests: Counter<"route" | "status">;
  readonly requestSeconds: Histogram<"route">;
  readonly calls: Counter<"vendor" | "status">;
  readonly cacheHits: Counter<"vendor">;
  readonly firstTokenSeconds: Histogram<"vendor">;
  readonly tokens: Counter<"vendor" | "direction">;
  readonly costUsd: Counter<"vendor" | "mode">;
  readonly unpricedCalls: Counter<"vendor">;
  readonly vendorReportedCostUsd: Counter<"vendor" | "by">;
  readonly disputedCharges: Counter<"vendor">;
  readonly journalSyncSeconds: Histogram;
  readonly connections: Gauge;
  readonly connectionsEnded: Counter<"reason">;
  readonly loopLagSeconds: Histogram;
  readonly loopBlocked: Counter<"route">;
  readonly backgroundJobRuns: Counter<"job" | "outcome">;
  /** The whole text with current values. */
  text(): Promise<string>;
  /** The same as values that survive JSON, for a sum over processes. */
  snapshot(): Promise<MetricSnapshot[]>;
}

/** A metric with its values, as prom-client adds them up over processes. */
export interface MetricSnapshot {
  name: string;
  help: string;
  type: string;
  aggregator: string;
  values: readonly unknown[];
}

/** A metric that is read when the text is requested; a counter never decreases. */
export interface ReadMeasure {
  help: string;
  read: () => number;
  kind?: "gauge" | "counter";
  /** What the workers of a program say together; the sum when absent. */
  overWorkers?: "sum" | "max";
}

async function snapshotOf(registry: Registry): Promise<MetricSnapshot[]> {
  return await registry.getMetricsAsJSON() as unknown as MetricSnapshot[];
}

/** Metrics that one process reads for itself, beside those of its workers. */
export function readMeasures(
  measures: Readonly<Record<string, ReadMeasure>>,
): Promise<MetricSnapshot[]> {
  const registry = new Registry();
  for (const [name, measure] of Object.entries(measures)) registerRead([registry], name, measure);
  return snapshotOf(registry);
}

/** The same with labels, by whose values it has several lines. */
export interface LabelledMeasure {
  help: string;
  labels: readonly string[];
  readAll: () => readonly { labels: Readonly<Record<string, string>>; value: number }[];
  kind?: "gauge" | "counter";
  overWorkers?: "sum" | "max";
}

export type Measures = Readonly<Record<string, ReadMeasure | LabelledMeasure>>;

export function createMetrics(measures: Measures): Metrics {
  const registry = new Registry();
  const registers = [registry];
  for (const [name, measure] of Object.entries(measures)) registerRead(registers, name, measure);
  const seconds = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120];
  return {
    requests: new Counter({
      name: "gateway_requests_total",
      help: "Answered requests by route and HTTP status",
      labelNames: ["route", "status"],
      registers,
    }),
    requestSeconds: new Histogram({
      name: "gateway_request_seconds",
      help: "Time from a request's arrival to the last byte of its response",
      labelNames: ["route"],
      buckets: seconds,
      registers,
    }),
    calls: new Counter({
      name: "gateway_calls_total",
      help: "Calls to vendors by how they ended",
      labelNames: ["vendor", "status"],
      registers,
    }),
    cacheHits: cacheHits(registers),
    firstTokenSeconds: new Histogram({
      name: "gateway_first_token_seconds",
      help: "Time from a request's arrival to the first token of its response",
      labelNames: ["vendor"],
      buckets: seconds,
      registers,
    }),
    tokens: new Counter({
      name: "gateway_tokens_total",
      help: "Tokens by vendor and direction",
      labelNames: ["vendor", "direction"],
      registers,
    }),
    costUsd: new Counter({
      name: "gateway_cost_usd_total",
      help: "Cost of calls in US dollars; approximate, the ledger is exact",
      labelNames: ["vendor", "mode"],
      registers,
    }),
    ...billingMeasures(registers),
    journalSyncSeconds: new Histogram({
      name: "gateway_journal_sync_seconds",
      help: "Duration of journal syncs, each of which many calls may share",
      buckets: [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.1, 0.5, 2.5],
      registers,
    }),
    ...connectionMeasures(registers),
    ...loopMeasures(registers),
    backgroundJobRuns: backgroundJobRuns(registers),
    text: () => registry.metrics(),
    snapshot: () => snapshotOf(registry),
  };
}

function connectionMeasures(
  registers: Registry[],
): Pick<Metrics, "connections" | "connectionsEnded"> {
  return {
    connections: new Gauge({
      name: "gateway_connections",
      help: "Callers' connections that are open",
      registers,
    }),
    connectionsEnded: new Counter({
      name: "gateway_connections_ended_total",
      help: "Callers' connections that were refused or ended, by reason",
      labelNames: ["reason"],
      registers,
    }),
  };
}

function loopMeasures(
  registers: Registry[],
): Pick<Metrics, "loopLagSeconds" | "loopBlocked"> {
  return {
    loopLagSeconds: new Histogram({
      name: "gateway_event_loop_lag_seconds",
      help: "Lag of the event loop, sampled 20 times a second",
      buckets: [0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.2, 0.5, 1, 2.5, 10],
      registers,
    }),
    loopBlocked: new Counter({
      name: "gateway_event_loop_blocked_total",
      help: "Times that the event loop was blocked for over 200 ms, by the route that ran longest",
      labelNames: ["route"],
      registers,
    }),
  };
}

function backgroundJobRuns(registers: Registry[]): Metrics["backgroundJobRuns"] {
  return new Counter({
    name: "gateway_background_job_runs_total",
    help: "Runs of background jobs by how they ended (outcome=done or failed)",
    labelNames: ["job", "outcome"],
    registers,
  });
}

function cacheHits(registers: Registry[]): Metrics["cacheHits"] {
  return new Counter({
    name: "gateway_cache_hits_total",
    help: "Calls that the response cache answered, by the vendor that had made the answer",
    labelNames: ["vendor"],
    registers,
  });
}

function billingMeasures(
  registers: Registry[],
): Pick<Metrics, "unpricedCalls" | "vendorReportedCostUsd" | "disputedCharges"> {
  return {
    unpricedCalls: new Counter({
      name: "gateway_unpriced_calls_total",
      help: "Calls with tokens for which no price is known, or whose cost came out as zero",
      labelNames: ["vendor"],
      registers,
    }),
    vendorReportedCostUsd: vendorReportedCostUsd(registers),
    disputedCharges: new Counter({
      name: "gateway_disputed_charges_total",
      help: "Calls whose vendor reported more than ten times the authorized amount",
      labelNames: ["vendor"],
      registers,
    }),
  };
}

function vendorReportedCostUsd(registers: Registry[]): Metrics["vendorReportedCostUsd"] {
  return new Counter({
    name: "gateway_vendor_reported_cost_usd_total",
    help:
      "Cost of calls whose vendor reported it: as reported (by=vendor) and at its price list (by=list)",
    labelNames: ["vendor", "by"],
    registers,
  });
}

function registerRead(
  registers: Registry[],
  name: string,
  measure: ReadMeasure | LabelledMeasure,
): void {
  const { help, kind = "gauge", overWorkers: aggregator = "sum" } = measure;
  const labelNames = "readAll" in measure ? [...measure.labels] : [];
  const lines = () =>
    "readAll" in measure ? measure.readAll() : [{ labels: {}, value: measure.read() }];
  if (kind === "gauge") {
    new Gauge({
      ...{ name, help, registers, labelNames, aggregator },
      collect() {
        this.reset();
        for (const { labels, value } of lines()) this.set(labels, value);
      },
    });
    return;
  }
  new Counter({
    ...{ name, help, registers, labelNames },
    collect() {
      this.reset();
      for (const { labels, value } of lines()) this.inc(labels, value);
    },
  });
}
