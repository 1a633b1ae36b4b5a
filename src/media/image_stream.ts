import type { SseEvent } from "../base/sse.ts";
import { finish } from "../base/steps.ts";
import { imageSource, writeImageAnswer } from "../dialects/media/images/write_answer.ts";
import type { GeneratedImage, ImageStreamReader } from "../dialects/kernel/image_codec.ts";
import { parsedRecord } from "../dialects/kernel/operation_request.ts";
import { withPartialImages } from "../dialects/kernel/image_tokens.ts";
import { readVendorError } from "../dialects/kernel/vendor_error.ts";
import type { Fault } from "../shared/fault.ts";
import { estimateTokens } from "../shared/token_estimate.ts";
import type { Usage } from "../shared/usage.ts";
import type { UpstreamAnswer } from "../vendors/upstream.ts";
import { answerHeaders } from "../vendors/vendor_headers.ts";
import { chargesReport } from "../vendors/reported_cost.ts";
import type { ImageGeneration } from "./images.ts";
import { imageUsage } from "./image_usage.ts";
import { lossHeader } from "../relay/reply.ts";
import {
  costOfCall,
  eventListener,
  type OperationContext,
  type StreamedOperationAnswer,
} from "./operations.ts";

/** Forwards the vendor's events unchanged, and reads images and usage from them. */
export function imageStream(
  ctx: OperationContext,
  generation: ImageGeneration,
  reader: ImageStreamReader,
  answer: UpstreamAnswer,
): StreamedOperationAnswer {
  const { losses, ask: { count }, request: { caller } } = generation;
  const images = new StreamedImages(ctx, generation, reader);
  return {
    status: answer.status,
    headers: {
      ...answerHeaders(answer.headers),
      ...(losses.length > 0 ? { "x-translation-loss": lossHeader(losses) } : {}),
    },
    body: answer.body,
    listener: eventListener(caller.requestId, {
      read: (event) => images.read(event),
      isLast: () => images.made >= count,
      isWhole: () => images.made > 0,
      settle: () => images.settle(),
    }),
  };
}

class StreamedImages {
  readonly #ctx: OperationContext;
  readonly #generation: ImageGeneration;
  readonly #reader: ImageStreamReader;
  readonly #images: GeneratedImage[] = [];
  #usage: Usage | undefined;
  /** Those since the last report. */
  #partials = 0;

  constructor(ctx: OperationContext, generation: ImageGeneration, reader: ImageStreamReader) {
    this.#ctx = ctx;
    this.#generation = generation;
    this.#reader = reader;
  }

  get made(): number {
    return this.#images.length;
  }

  settle(): { recordText?: string } {
    const { request, ask, encoded } = this.#generation;
    const { meter, vendorCall: { price, target } } = this.#ctx;
    if (this.#images.length === 0 && this.#partials === 0) return {};
    if (this.#images.length === 0) {
      const input = estimateTokens(ask.prompt);
      meter.report(withPartialImages({ input, output: 0 }, this.#partials), "estimated");
      return {};
    }
    const billable = { count: this.#images.length, usage: this.#usage };
    const { usage: counted, basis } = imageUsage([billable], {
      ...{ ask, encoded, price },
      ignoresCost: !chargesReport(target.vendor, price),
    });
    const isCounted = this.#partials === 0 || price?.rates.perImage !== undefined;
    const usage = isCounted ? counted : withPartialImages(counted, this.#partials);
    meter.report(usage, isCounted ? basis : "estimated", "stop");
    const facts = {
      created: Math.floor(request.caller.arrivedAt.getTime() / 1000),
      provider: target.vendor.label,
      model: target.model,
      images: this.#images,
      missing: Math.max(0, ask.count - this.#images.length),
      usage,
      costNanos: costOfCall(this.#ctx),
    };
    return { recordText: finish(writeImageAnswer(facts, this.#images.map(imageSource))) };
  }

  read({ data }: SseEvent): Fault | undefined {
    const event = data === undefined ? undefined : parsedRecord(data);
    if (!event) return undefined;
    const { image, isPartial, usage, error } = this.#reader.read(event);
    if (error !== undefined) return this.#ctx.vendorCall.fault(readVendorError(error, undefined));
    if (image) this.#images.push(image);
    if (isPartial) this.#partials++;
    if (usage) {
      this.#usage = usage;
      this.#partials = 0;
    }
    return undefined;
  }
}
