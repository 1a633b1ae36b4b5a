import type { Clock } from "../../base/clock.ts";
import type { Log } from "../../base/log.ts";
import { createLoopWatch, type LoopWatch } from "../../base/loop_watch.ts";
import type { Config } from "../config.ts";
import { type Admission, createAdmission } from "../../overload/admission.ts";
import type { Metrics, ReadMeasure } from "../../shared/metrics.ts";
import type { RequestContext } from "../../http/request_context.ts";

/** What is named when the event loop was blocked. */
export type LoopWork = Pick<RequestContext, "route" | "requestId" | "principal">;

/** Knows how much the process has to do, and who may add to it. */
export interface Load {
  admission: Admission;
  loopWatch: LoopWatch<LoopWork>;
}

export function admissionOf(config: Config, clock: Clock): Admission {
  return createAdmission({ maxUnderWay: config.callsInFlightMax, clock });
}

export function loadMeasures(admission: Admission): Readonly<Record<string, ReadMeasure>> {
  return {
    gateway_calls_under_way: {
      help: "Requests that are being answered",
      read: () => admission.underWay,
    },
    gateway_calls_shed_total: {
      help: "Requests refused with 503 overloaded before anything was made of them",
      kind: "counter",
      read: () => admission.refused,
    },
  };
}

/** Says in log and metrics when calls are refused, and what blocked the event loop. */
export function watchLoad(
  { admission, clock, log, metrics }: {
    admission: Admission;
    clock: Clock;
    log: Log;
    metrics: Metrics;
  },
): LoopWatch<LoopWork> {
  const teller = new RefusalTeller(admission, clock, log);
  return createLoopWatch<LoopWork>({
    clock,
    lag(ms) {
      admission.lag(ms);
      metrics.loopLagSeconds.observe(ms / 1000);
      teller.look();
    },
    blocked(ms, work) {
      const route = work?.route ?? "unknown";
      metrics.loopBlocked.inc({ route });
      log.warn("the event loop was blocked", {
        ms: Math.round(ms),
        route,
        account: work?.principal?.account.id,
        id: work?.requestId,
      });
    },
  });
}

const tellEveryMs = 5_000;

/** One line for many refusals. */
class RefusalTeller {
  #told = 0;
  #nextMs = 0;

  constructor(readonly admission: Admission, readonly clock: Clock, readonly log: Log) {}

  look(): void {
    const { refused, underWay } = this.admission;
    const nowMs = this.clock.monotonicMs();
    if (refused === this.#told || nowMs < this.#nextMs) return;
    this.log.warn("calls were refused: the service is overloaded", {
      calls: refused - this.#told,
      under_way: underWay,
    });
    this.#told = refused;
    this.#nextMs = nowMs + tellEveryMs;
  }
}
