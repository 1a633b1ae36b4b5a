import { AggregatorRegistry, type MetricObject } from "prom-client";
import type { MetricSnapshot } from "../shared/metrics.ts";

/**
 * The metrics of all workers as one text. Counters and histograms of workers that have ended stay
 * in it as they were last seen, so that no sum ever decreases; gauges go with their worker.
 */
export class MetricSums {
  readonly #seen = new Map<number, readonly MetricSnapshot[]>();
  #ended: (readonly MetricSnapshot[])[] = [];
  #folding: Promise<void> = Promise.resolve();

  /** Records the current metrics of a worker. */
  saw(worker: number, metrics: readonly MetricSnapshot[]): void {
    this.#seen.set(worker, metrics);
  }

  /** The worker has ended: its successor counts from zero. */
  ended(worker: number): void {
    const last = this.#seen.get(worker);
    if (last === undefined) return;
    this.#seen.delete(worker);
    this.#ended.push(last.filter(({ type }) => type !== "gauge"));
    this.#folding = this.#folding.then(() => this.#fold());
  }

  /** In the Prometheus text format; `own` are the metrics of the process that adds them up. */
  async text(own: readonly MetricSnapshot[]): Promise<string> {
    return await sumOf([own, ...this.#seen.values(), ...this.#ended]).metrics();
  }

  /**
   * Adds up the metrics of ended workers, so that a worker that keeps ending takes no more room
   * than one.
   */
  async #fold(): Promise<void> {
    const { length } = this.#ended;
    if (length < 2) return;
    const sum = await sumOf(this.#ended).getMetricsAsJSON();
    this.#ended = [sum as unknown as MetricSnapshot[], ...this.#ended.slice(length)];
  }
}

function sumOf(snapshots: readonly (readonly MetricSnapshot[])[]) {
  return AggregatorRegistry.aggregate(snapshots as unknown as MetricObject[]);
}
