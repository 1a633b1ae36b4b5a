import type { Steps } from "../base/steps.ts";
import type { CanonicalAnswer } from "../dialects/kernel/canonical.ts";
import type { CredentialField } from "../dialects/kernel/credential_field.ts";
import type { Dialect, RequestFacts } from "../dialects/kernel/dialect.ts";
import type { HostedWork } from "../dialects/kernel/hosted.ts";
import type { MediaField } from "../dialects/kernel/media_field.ts";
import type { PromptUsage } from "../dialects/kernel/prompt_text.ts";
import type { BoundPayload } from "../records/payload.ts";
import type { Media } from "../shared/media.ts";
import type { RetainedReasoning } from "../shared/stored_response.ts";
import type { Retainer } from "./conversation/conversation.ts";

/** A wire format's name in records, and the fields of its payloads that are recorded differently. */
export interface RecordedForm {
  readonly name: string;
  readonly mediaFields: readonly MediaField[];
  /** Absent: there are none. */
  readonly credentialFields?: readonly CredentialField[];
}

/** What a call's record holds of its request, and how the answer is recorded. */
export interface RecordedRequest {
  dialect: RecordedForm;
  facts:
    & Pick<RequestFacts, "model" | "stream" | "endUser" | "session" | "tags">
    & { serviceTier?: string | undefined };
  plan: RecordedPlan;
  /** The most output tokens that the call can have; absent: unknown. */
  maxOutputTokens?: number | undefined;
  /** For counting tokens where the vendor reports none; absent where no tokens are billed. */
  body?: unknown;
  /** Tokens of the body, where they were counted before it was released. */
  promptUsage?: PromptUsage | undefined;
  /** JSON text for the record: the caller's own where it sent JSON. */
  bodyText: string;
  /** `bodyText` as it is recorded, where that has been prepared already. */
  payload?: BoundPayload;
  /** Media that `bodyText` names by hash. */
  bodyMedia?: readonly Media[];
  /** Earlier calls whose text the answer repeats; absent: there are none. */
  answerSources?: readonly string[];
  /** Makes what is stored for later turns of the conversation; absent: nothing is stored. */
  retain?: Retainer | undefined;
}

/** How the request went to its vendor, and how a streamed answer is recorded. */
export interface RecordedPlan {
  /** Paths in the caller's request of fields that could not be carried. */
  readonly losses: readonly string[];
  readonly hosted?: HostedWork;
  /** The vendor's dialect. */
  readonly upstream?: Pick<Dialect, "countHosted">;
  /** The folded answer in the caller's dialect; absent where the answer comes with its text. */
  encodeFolded?(answer: CanonicalAnswer): Steps<unknown>;
  /** Returns the reasoning that the vendor needs back in the next turn. */
  retainedReasoning?(answer: CanonicalAnswer): RetainedReasoning[];
}
