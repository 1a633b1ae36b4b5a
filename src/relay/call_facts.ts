import type { Clock } from "../base/clock.ts";
import type { Log } from "../base/log.ts";
import type { ErrorCode } from "../../contracts/kernel/errors.ts";
import type { CanonicalAnswer } from "../dialects/kernel/canonical.ts";
import type { RequestFacts } from "../dialects/kernel/dialect.ts";
import type { HostedWork } from "../dialects/kernel/hosted.ts";
import type { MediaField } from "../dialects/kernel/media_field.ts";
import type { Fault } from "../shared/fault.ts";
import type { InteractionStatus, SettledCall } from "../shared/interaction.ts";
import type { Media } from "../shared/media.ts";
import type { RetainedReasoning } from "../shared/stored_response.ts";
import type { Prices } from "../pricing/table/prices.ts";
import type { Retainer } from "./conversation/conversation.ts";
import type { StoredResponseCache } from "./conversation/stored_response_cache.ts";
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
  /** What the caller got as an error, or would have. */
  fault?: Fault;
  /** JSON text as the caller received it; the fold of what was streamed when absent. */
  responseText?: string;
  /** `responseText` is not the whole answer. */
  isTruncated?: boolean;
}

/** How records name a wire format, and where media stands in its texts. */
export interface RecordedForm {
  readonly name: string;
  readonly mediaFields: readonly MediaField[];
}

/** What a call's record holds of its request, and how it holds the answer. */
export interface RecordedRequest {
  dialect: RecordedForm;
  facts: Pick<RequestFacts, "model" | "stream" | "endUser" | "tags">;
  plan: RecordedPlan;
  /** Its words are counted where the vendor doesn't count them; absent where no words are billed. */
  body?: unknown;
  /** Tokens of its words, where they were counted before the body was let go. */
  promptTokens?: number | undefined;
  /** JSON text for the record; as the caller sent it where it sent JSON. */
  bodyText: string;
  /** The same as it is recorded, where it has been made already. */
  payload?: BoundPayload;
  /** Media that `bodyText` names by hash. */
  bodyMedia?: readonly Media[];
  /** Makes what is stored of the answer for whoever continues it; absent: nothing is. */
  retain?: Retainer | undefined;
}

/** What a record says of how the request went to its vendor, and of a streamed answer. */
export interface RecordedPlan {
  /** Paths of what could not be carried, in the caller's words. */
  readonly losses: readonly string[];
  readonly hosted?: HostedWork;
  /** The folded answer in the caller's dialect; absent where the answer comes with its text. */
  encodeFolded?(answer: CanonicalAnswer): unknown;
  /** What the next turn's vendor will need back of the answer. */
  retainedReasoning?(answer: CanonicalAnswer): RetainedReasoning[];
}

/** Where calls are noted so that a crash loses none; implemented in `src/records/journal/journal.ts`. */
export interface CallJournal {
  /** Throws `overloaded` when no more is taken. */
  begin(interaction: SettledCall): void;
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
  tries: Tries;
}
