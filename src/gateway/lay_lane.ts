import { writeJson } from "../base/write_json.ts";
import { atOnce } from "../base/heavy_work.ts";
import type { Clock } from "../base/clock.ts";
import type { DialectName } from "../../contracts/vendors.ts";
import type { RequestFacts } from "../dialects/dialect.ts";
import { promptTokens } from "../dialects/prompt_text.ts";
import { withoutTags } from "../dialects/tag_blocks.ts";
import type { TranslationMode } from "../domain/api_key.ts";
import { Fault } from "../domain/fault.ts";
import type { KeptStore } from "../domain/kept.ts";
import type { ResolvedModel } from "../vendors/model_name.ts";
import type { Prices } from "../vendors/prices.ts";
import type { PublicFetch } from "../vendors/public_fetch.ts";
import type { Caller } from "./caller.ts";
import { inlineMedia } from "./inline_media.ts";
import type { Lane } from "./lane.ts";
import { passThrough } from "./pass_through.ts";
import { recallReasoning } from "./reasoning_vault.ts";
import { type FullDialect, translate } from "./translation.ts";

export interface LaneParts {
  clock: Clock;
  dialects: Readonly<Record<DialectName, FullDialect>>;
  prices: Prices;
  kept: KeptStore;
  publicFetch: PublicFetch;
  keepAliveMs: number;
}

/** A request whose vendor is known. */
export interface LaneRequest {
  transactionId: string;
  caller: Caller;
  dialect: FullDialect;
  body: unknown;
  bodyText: string;
  facts: RequestFacts;
  target: ResolvedModel;
  /** The caller wants a stream as one JSON array, where its dialect has that form. */
  jsonArray: boolean;
}

/**
 * Chooses the lane of a call and prepares its request: the vendor is called in the caller's own
 * dialect if it speaks it, else in the first of its row. Throws what is wrong with the request.
 */
export async function layLane(parts: LaneParts, request: LaneRequest): Promise<Lane> {
  const { dialect, target, facts, caller } = request;
  const { step = atOnce } = caller;
  if (target.vendor.dialects.includes(dialect.name)) {
    return await step.inSteps(() => passThrough(request));
  }
  const upstream = parts.dialects[target.vendor.dialects[0]!];
  const mode = translationMode(caller);
  const decoded = await step.inSteps(() =>
    dialect.decodeSteps(withoutTags(request.body, facts.tagBlocks))
  );
  const inputTokens = await step.inSteps(() => promptTokens(request.body));
  const { needsInline } = upstream;
  const inlined = needsInline
    ? await inlineMedia(
      decoded,
      parts.publicFetch,
      caller.signal,
      (part) => part.source.type === "url" && needsInline(part, part.source.url),
    )
    : decoded;
  const account = caller.principal.account.id;
  const recalled = await recallReasoning(inlined, upstream.name, account, parts.kept);
  const maxOutputTokens = parts.prices.find(target.vendor.label, target.model, caller.arrivedAt)
    ?.maxOutputTokens;
  const { quirks } = target.vendor;
  const encoded = await step.inSteps(() =>
    upstream.encodeSteps(recalled, { model: target.model, maxOutputTokens, quirks })
  );
  const requestText = await step.inSteps(() => writeJson(encoded.body));
  return translate({
    transactionId: request.transactionId,
    dialect,
    upstream,
    request: recalled.reasoning ? { reasoning: recalled.reasoning } : {},
    encoded: { losses: encoded.losses, undo: encoded.undo },
    requestText,
    body: request.body,
    inputTokens,
    target,
    mode,
    showUsage: facts.wantsStreamUsage,
    jsonArray: request.jsonArray,
    keepAliveMs: parts.keepAliveMs,
    created: Math.floor(caller.arrivedAt.getTime() / 1000),
    now: secondsOf(parts.clock),
  });
}

/** Made out here: a function that lives as long as the call holds all that stands around it. */
function secondsOf(clock: Clock): () => number {
  return () => Math.floor(clock.now().getTime() / 1000);
}

/** `X-Translation-Mode`, else the key's own (interface.md §5). */
export function translationMode(caller: Caller): TranslationMode {
  const asked = caller.header("x-translation-mode");
  if (asked === undefined) return caller.principal.key.translationMode;
  if (asked === "strict" || asked === "lenient" || asked === "default") return asked;
  throw new Fault("invalid_value", {
    param: "X-Translation-Mode",
    message: "X-Translation-Mode: expected 'strict' or 'lenient'.",
  });
}
