import { maskSecrets } from "../base/secret.ts";
import type { Clock } from "../base/clock.ts";
import type { Log } from "../base/log.ts";
import { createLoopWatch, type LoopWatch } from "../base/loop_watch.ts";
import type { Admission } from "../overload/admission.ts";
import type { Metrics, ReadMeasure } from "../shared/metrics.ts";
import type { RequestContext } from "../http/request_context.ts";

/** Identifies the request that blocked the event loop. */
export type LoopWork = Pick<RequestContext, "route" | "requestId" | "principal">;

export function loadMeasures(admission: Admission): Readonly<Record<string, ReadMeasure>> {
  return {
    gateway_calls_under_way: {
      help: "Requests in flight",
      read: () => admission.underWay,
    },
    gateway_calls_shed_total: {
      help: "Requests refused with 503 overloaded before any processing",
      kind: "counter",
      read: () => admission.refused,
    },
  };
}

/** Logs and counts refused calls and a blocked event loop. */
export function watchLoad({ admission, clock, log, metrics }: {
  admission: Admission;
  clock: Clock;
  log: Log;
  metrics: Metrics;
}): LoopWatch<LoopWork> {
  const refusals = new RefusalLog(admission, clock, log);
  return createLoopWatch<LoopWork>({
    clock,
    lag(ms) {
      admission.lag(ms);
      metrics.loopLagSeconds.observe(ms / 1000);
      refusals.report();
    },
    blocked(ms, work) {
      const route = work?.route ?? "unknown";
      metrics.loopBlocked.inc({ route });
      log.warn("the event loop was blocked", {
        ms: Math.round(ms),
        route,
        account: work?.principal?.account.id,
        id: work && maskSecrets(work.requestId),
      });
    },
  });
}

const logEveryMs = 5_000;

/** Logs refusals, at most one line every few seconds. */
class RefusalLog {
  #logged = 0;
  #nextMs = 0;

  constructor(readonly admission: Admission, readonly clock: Clock, readonly log: Log) {}

  report(): void {
    const { refused, underWay } = this.admission;
    const nowMs = this.clock.monotonicMs();
    if (refused === this.#logged || nowMs < this.#nextMs) return;
    this.log.warn("calls were refused: the service is overloaded", {
      calls: refused - this.#logged,
      under_way: underWay,
    });
    this.#logged = refused;
    this.#nextMs = nowMs + logEveryMs;
  }
}
