import type { Clock } from "../base/clock.ts";
import type { Log } from "../base/log.ts";
import type { Prices } from "../pricing/table/prices.ts";
import type { Recorder } from "../records/recorder.ts";
import type { ObservedCall, SettledCall } from "../shared/interaction.ts";
import type { StoredResponseCache } from "./conversation/stored_response_cache.ts";
import type { OpenStreams } from "./open_streams.ts";
import type { SettlingSteps } from "./settling_steps.ts";

/** Where calls are written so that a crash loses none (`src/records/journal/journal.ts`). */
export interface CallJournal {
  /** Throws `overloaded` when the journal is full. */
  begin(interaction: SettledCall): void | Promise<void>;
  /** Resolves when the end survives a crash. */
  end(interaction: SettledCall): Promise<void>;
}

/** What every call uses. */
export interface CallDeps {
  clock: Clock;
  prices: Prices;
  recorder: Recorder;
  journal: CallJournal;
  storedResponses: StoredResponseCache;
  streams: OpenStreams;
  payloadMaxBytes: number;
  mediaInlineBytes: number;
  log: Log;
  settling: SettlingSteps;
  /** Called with every settled call, whoever made it. */
  observe?: (ended: ObservedCall) => void;
  /**
   * Returns the trace id of a call with this `traceparent` header; undefined where there is none.
   */
  traceIdOf?: (traceparent: string | undefined) => string | undefined;
}
