import type { Clock } from "../base/clock.ts";
import type { MetricSnapshot } from "../shared/metrics.ts";
import { type CollectorSettings, type PostToCollector, sendToCollector } from "./collector.ts";

/** Where metrics go, and how often. */
export interface MetricExportSettings extends CollectorSettings {
  endpoint: string;
  everyMs: number;
}

export interface MetricExport {
  readonly everyMs: number;
  /** Sends the current values. Rejects where the collector has not taken them. */
  send(metrics: readonly MetricSnapshot[]): Promise<void>;
  /** Sends the last values at a stop: never rejects, and takes two seconds at most. */
  sendLast(metrics: readonly MetricSnapshot[]): Promise<void>;
}

/** How long a stop waits for a collector that hangs. */
const longestLastMs = 2_000;

/**
 * Sends what `/metrics` shows to a collector. Values are sums since the start, so what the
 * collector missed while it was unreachable is in the next ones, and nothing has to be queued for
 * it.
 */
export function createMetricExport(
  { endpoint, everyMs, ...collector }: MetricExportSettings,
  { post, version, clock }: { post: PostToCollector; version: string; clock: Pick<Clock, "now"> },
): MetricExport {
  const sinceMs = clock.now().getTime();
  const send = async (metrics: readonly MetricSnapshot[], timeoutMs: number) => {
    const { writeMetrics } = await import("./otlp.ts");
    const { protocol, resource: attributes } = collector;
    const times = { sinceMs, atMs: clock.now().getTime() };
    const request = writeMetrics(metrics, protocol, { attributes, version }, times);
    const sent = await sendToCollector(endpoint, request, { ...collector, timeoutMs }, post);
    if (sent !== "taken") throw new Error(problems[sent]);
  };
  return {
    everyMs,
    send: (metrics) => send(metrics, collector.timeoutMs),
    sendLast: (metrics) =>
      send(metrics, Math.min(longestLastMs, collector.timeoutMs)).catch(() => {}),
  };
}

const problems = {
  away: "the collector of metrics can't be reached",
  refused: "the collector of metrics refused them",
} as const;
