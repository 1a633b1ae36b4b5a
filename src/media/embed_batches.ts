import type { Steps } from "../base/steps.ts";
import { writeJson } from "../base/write_json.ts";
import {
  batchRequest,
  maxBatch,
  readBatch,
} from "../dialects/text/generate/operations/embeddings.ts";
import { methodPath } from "../dialects/text/generate/models.ts";
import { embeddingList, inputTokens, textInputs } from "../dialects/media/operations/embeddings.ts";
import { isRecord } from "../dialects/kernel/json.ts";
import { carriesError, readVendorError } from "../dialects/kernel/vendor_error.ts";
import type { OperationRequest } from "../dialects/kernel/operation_request.ts";
import { severalRequests } from "../pricing/pricing.ts";
import { unreadableAnswer } from "../shared/fault.ts";
import { parseAnswerInTurns } from "../relay/text_answer.ts";
import { stepFor } from "../relay/call_context.ts";
import { lossHeader } from "../relay/reply.ts";
import { usageBeforeBreak } from "./broken_answer.ts";
import type { OperationAnswer, OperationContext } from "./operations.ts";

/**
 * Makes embeddings at a vendor with the generate dialect, by its batch method, in the format of the
 * chat dialect. Texts beyond the vendor's batch size go in further requests, one after the other.
 * Tokens that the vendor doesn't count are estimated. `losses` are the paths of fields that the
 * vendor doesn't support.
 */
export async function embedInBatches(
  ctx: OperationContext,
  { fields }: OperationRequest,
  losses: readonly string[],
): Promise<OperationAnswer> {
  const { model } = ctx.vendorCall.target;
  const texts = textInputs(fields.input);
  const dimensions = typeof fields.dimensions === "number" ? fields.dimensions : undefined;
  const vectors: number[][] = [];
  let tokens = 0;
  let isCounted = true;
  let requests = 0;
  const report = (finish?: "stop") => {
    const usage = { input: tokens, output: 0, ...severalRequests(requests) };
    ctx.meter.report(usage, isCounted ? "reported" : "estimated", finish);
  };
  for (let at = 0; at < texts.length; at += maxBatch) {
    const batch = texts.slice(at, at + maxBatch);
    const count = (reported: number | undefined) => {
      requests++;
      tokens += reported ?? inputTokens(batch);
      isCounted &&= reported !== undefined;
      // If a later batch fails, the vendor still bills the earlier ones.
      report();
    };
    const made = await embedBatch(ctx, batch, dimensions, count);
    for (const vector of made.vectors) vectors.push(vector);
    count(made.tokens);
  }
  report("stop");
  const asBase64 = fields.encoding_format === "base64";
  const units = vectors.length * (vectors[0]?.length ?? 0) * unitsOfNumber;
  const step = stepFor(units, ctx.vendorCall.caller);
  const body = await step.inSteps(() => writtenList(vectors, { model, tokens, asBase64 }));
  const headers = {
    "content-type": "application/json",
    ...(losses.length > 0 ? { "x-translation-loss": lossHeader(losses) } : {}),
  };
  return { status: 200, headers, body, recordText: body };
}

/** UTF-16 units of a written number, approximately. */
const unitsOfNumber = 20;

function* writtenList(...list: Parameters<typeof embeddingList>): Steps<string> {
  return yield* writeJson(yield* embeddingList(...list));
}

/** `brokenOff` gets the tokens that were reported in an answer that breaks off. */
async function embedBatch(
  ctx: OperationContext,
  texts: readonly string[],
  dimensions: number | undefined,
  brokenOff: (tokens: number | undefined) => void,
): Promise<{ vectors: number[][]; tokens: number | undefined }> {
  const { model } = ctx.vendorCall.target;
  const answer = await ctx.ask({
    path: methodPath(model, "batchEmbedContents"),
    contentType: "application/json",
    accept: "application/json",
    body: JSON.stringify(batchRequest(texts, model, dimensions)),
    sameDialect: false,
  });
  const bytes = await ctx.read(answer, (part) => {
    if (part.length === 0) return;
    const usage = usageBeforeBreak(part, ctx.vendorCall, (members) => {
      const { tokens } = readBatch(members);
      return tokens === undefined ? undefined : { input: tokens, output: 0 };
    });
    brokenOff(usage?.input);
  });
  const json = await parseAnswerInTurns(new TextDecoder().decode(bytes), ctx.vendorCall.caller);
  // Some hosts and aggregators send errors with status 200.
  if (isRecord(json) && carriesError(json)) {
    throw ctx.vendorCall.fault(readVendorError(json, undefined));
  }
  const made = readBatch(json);
  if (made.vectors.length === texts.length) return made;
  const note = `${made.vectors.length} embeddings for ${texts.length} texts`;
  throw unreadableAnswer(note);
}
