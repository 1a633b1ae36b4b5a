import type { Clock } from "../base/clock.ts";
import type { Log } from "../base/log.ts";
import type { ErrorCode } from "../../contracts/kernel/errors.ts";
import type { RequestFacts } from "../dialects/kernel/dialect.ts";
import type { MediaField } from "../dialects/kernel/media_field.ts";
import type { Fault } from "../shared/fault.ts";
import type { Interaction, InteractionStatus, Mode } from "../shared/interaction.ts";
import type { Media } from "../shared/media.ts";
import type { PriceRow } from "../pricing/pricing.ts";
import type { ResolvedModel } from "../vendors/model_name.ts";
import type { Prices } from "../pricing/table/prices.ts";
import type { BackgroundTask } from "./background_task.ts";
import type { Caller } from "./call_context.ts";
import type { Keeper } from "./conversation/conversation.ts";
import type { Authorization } from "./authorize.ts";
import type { StoredResponseCache } from "./conversation/stored_response_cache.ts";
import type { CallPlan } from "./plan/call_plan.ts";
import type { OpenStreams } from "./open_streams.ts";
import type { BoundPayload } from "../records/payload.ts";
import type { Recorder } from "../records/recorder.ts";
import type { Tries } from "./settling_steps.ts";

/** How a call ended. */
export interface Ending {
  status: InteractionStatus;
  /** What the caller received; null when it left before an answer began. */
  httpStatus: number | null;
  errorCode?: ErrorCode;
  /** What the caller was told, or would have been. */
  fault?: Fault;
  /** JSON text as the caller received it; the fold of what was streamed when absent. */
  responseText?: string;
  /** Of `responseText`: more was said than it holds. */
  isTruncated?: boolean;
}

/** How records name a wire format, and where media stands in its texts. */
export interface RecordedForm {
  readonly name: string;
  readonly mediaFields: readonly MediaField[];
}

/** What a call is made of, before it begins. */
export interface CallFacts {
  transactionId: string;
  caller: Caller;
  dialect: RecordedForm;
  facts: Pick<RequestFacts, "model" | "stream" | "endUser" | "tags">;
  target: ResolvedModel;
  mode: Mode;
  plan:
    & Pick<CallPlan, "losses" | "encodeFolded" | "retainedReasoning">
    & Partial<Pick<CallPlan, "hosted">>;
  body: unknown;
  /** Tokens of its words, where they were counted before the body was let go. */
  promptTokens?: number | undefined;
  /** JSON text for the record; as the caller sent it where it sent JSON. */
  bodyText: string;
  /** The same as it is recorded, where that is known. */
  payload?: BoundPayload;
  /** Media that `bodyText` names by hash. */
  bodyMedia?: readonly Media[];
  /** Makes what is kept of the answer for whoever continues it; undefined: nothing. */
  kept: Keeper | undefined;
  authorization: Authorization;
  /** What it was admitted at, for where no newer price can be found. */
  price?: PriceRow | undefined;
  /**
   * The call goes on without its caller: where it is stored stands for it until it ends, in place
   * of a beginning in the journal, and it is found there, by whatever process.
   */
  task?: BackgroundTask | undefined;
}

/** Where calls are noted so that a crash loses none; implemented in `src/records/journal/journal.ts`. */
export interface CallJournal {
  /** Throws `overloaded` when no more is taken. */
  begin(interaction: Interaction): void;
  /** Resolves when the end survives a crash. */
  end(interaction: Interaction): Promise<void>;
}

/** What every call uses. */
export interface CallDeps {
  clock: Clock;
  prices: Prices;
  recorder: Recorder;
  journal: CallJournal;
  kept: StoredResponseCache;
  streams: OpenStreams;
  payloadMaxBytes: number;
  mediaInlineBytes: number;
  log: Log;
  tries: Tries;
}
