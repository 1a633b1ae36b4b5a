import { Counter, Gauge, Histogram, type Metric, Registry } from "prom-client";
import { type MetricFamily, RequestMetrics } from "./call_metrics.ts";

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
  /** How the values of a program's workers are combined; default: sum. */
  overWorkers?: "sum" | "max";
}

async function snapshotOf(registry: Registry): Promise<MetricSnapshot[]> {
  return await registry.getMetricsAsJSON() as unknown as MetricSnapshot[];
}

/** Metrics that one process reads for itself, in addition to those of its workers. */
export function readMeasures(
  measures: Readonly<Record<string, ReadMeasure>>,
): Promise<MetricSnapshot[]> {
  const registry = new Registry();
  for (const [name, measure] of Object.entries(measures)) registerRead([registry], name, measure);
  return snapshotOf(registry);
}

/** A `ReadMeasure` with labels: one line for each set of label values. */
export interface LabelledMeasure extends Omit<ReadMeasure, "read"> {
  labels: readonly string[];
  readAll: () => readonly { labels: Readonly<Record<string, string>>; value: number }[];
}

export type Measures = Readonly<Record<string, ReadMeasure | LabelledMeasure>>;

/** `families`: metrics that do their own counting, such as those of calls. */
export function createMetrics(measures: Measures, families: readonly MetricFamily[] = []) {
  const registry = new Registry();
  const registers = [registry];
  for (const [name, measure] of Object.entries(measures)) registerRead(registers, name, measure);
  const requests = new RequestMetrics();
  for (const family of [...requests.families(), ...families]) registerFamily(registry, family);
  return {
    requests,
    journalSyncSeconds: new Histogram({
      name: "gateway_journal_sync_seconds",
      help: "Duration of journal syncs; many calls may share one",
      buckets: [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.1, 0.5, 2.5],
      registers,
    }),
    connections: new Gauge({
      name: "gateway_connections",
      help: "Open connections of callers",
      registers,
    }),
    connectionsEnded: new Counter({
      name: "gateway_connections_ended_total",
      help: "Callers' connections that were refused or ended, by reason",
      labelNames: ["reason"],
      registers,
    }),
    loopLagSeconds: new Histogram({
      name: "gateway_event_loop_lag_seconds",
      help: "Event loop lag, sampled 20 times per second",
      buckets: [0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.2, 0.5, 1, 2.5, 10],
      registers,
    }),
    loopBlocked: new Counter({
      name: "gateway_event_loop_blocked_total",
      help:
        "Times that the event loop was blocked for more than 200 ms, by the route that ran longest",
      labelNames: ["route"],
      registers,
    }),
    backgroundJobRuns: new Counter({
      name: "gateway_background_job_runs_total",
      help: "Runs of background jobs by outcome (done or failed)",
      labelNames: ["job", "outcome"],
      registers,
    }),
    /** The whole text with current values. */
    text: () => registry.metrics(),
    /** The same in a form that survives JSON, to be summed over processes. */
    snapshot: () => snapshotOf(registry),
  };
}

/** The service's metrics in the Prometheus text format; labels never hold content. */
export type Metrics = ReturnType<typeof createMetrics>;

/**
 * The registry only needs `get`. Its own classes would make a string for every value they count.
 */
function registerFamily(registry: Registry, { name, help, type, values }: MetricFamily): void {
  const metric = { name, get: () => ({ name, help, type, aggregator: "sum", values: values() }) };
  registry.registerMetric(metric as unknown as Metric<string>);
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
