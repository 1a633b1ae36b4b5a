import { type SseEvent, SseSplitter } from "../base/sse.ts";
import { writeImageAnswer } from "../dialects/media/images/write_answer.ts";
import type { GeneratedImage, ImageStreamReader } from "../dialects/kernel/image_codec.ts";
import { isRecord, type JsonRecord } from "../dialects/kernel/json.ts";
import { partialImageTokens } from "../dialects/kernel/image_tokens.ts";
import { readVendorError } from "../dialects/kernel/vendor_error.ts";
import { Fault } from "../shared/fault.ts";
import { estimateTokens } from "../shared/token_estimate.ts";
import type { Usage } from "../shared/usage.ts";
import type { UpstreamAnswer } from "../vendors/upstream.ts";
import { answerHeaders } from "../vendors/vendor_headers.ts";
import type { Drawing } from "./images.ts";
import { imageUsage } from "./image_usage.ts";
import { lossHeader } from "../relay/reply.ts";
import {
  costOfCall,
  errorEvent,
  type OperationContext,
  type OperationListener,
  type PassedEvents,
  passEvents,
  type StreamedOperationAnswer,
} from "./operations.ts";

/** An event larger than this ends the stream. */
const maxEventBytes = 32 * 1024 * 1024;

/** Forwards the vendor's events unchanged, and reads images and usage from them. */
export function imageStream(
  ctx: OperationContext,
  drawing: Drawing,
  reader: ImageStreamReader,
  answer: UpstreamAnswer,
): StreamedOperationAnswer {
  const { losses } = drawing;
  return {
    status: answer.status,
    headers: {
      ...answerHeaders(answer.headers),
      ...(losses.length > 0 ? { "x-translation-loss": lossHeader(losses) } : {}),
    },
    body: answer.body,
    listener: new ImageListener(ctx, drawing, reader),
  };
}

class ImageListener implements OperationListener {
  readonly #ctx: OperationContext;
  readonly #drawing: Drawing;
  readonly #reader: ImageStreamReader;
  readonly #splitter = new SseSplitter({ maxEventBytes });
  readonly #images: GeneratedImage[] = [];
  #usage: Usage | undefined;
  #partials = 0;

  constructor(ctx: OperationContext, drawing: Drawing, reader: ImageStreamReader) {
    this.#ctx = ctx;
    this.#drawing = drawing;
    this.#reader = reader;
  }

  take(piece: Uint8Array) {
    return { ...this.#hear(this.#splitter.push(piece)), isLast: this.#isComplete };
  }

  end(): Uint8Array | undefined {
    const { bytes, failure } = this.#hear(this.#splitter.end());
    if (failure) throw failure;
    if (this.#images.length === 0) throw new Fault("upstream_stream_truncated");
    return bytes;
  }

  fail(fault: Fault): Uint8Array {
    return errorEvent(fault, this.#drawing.request.caller.requestId);
  }

  settle(): { recordText?: string } {
    const { request, ask, encoded } = this.#drawing;
    const { meter, vendorCall: { price, target } } = this.#ctx;
    if (this.#images.length === 0 && this.#partials === 0) return {};
    if (this.#images.length === 0) {
      const output = this.#partials * partialImageTokens;
      const input = estimateTokens(ask.prompt);
      meter.report({ input, output, imageOutput: output }, "estimated");
      return {};
    }
    const one = { images: this.#images, ...(this.#usage ? { usage: this.#usage } : {}) };
    const { usage, basis } = imageUsage([one], { ask, encoded, price });
    meter.report(usage, basis, "stop");
    const { recordText } = writeImageAnswer({
      created: Math.floor(request.caller.arrivedAt.getTime() / 1000),
      provider: target.vendor.label,
      model: target.model,
      images: this.#images,
      missing: Math.max(0, ask.count - this.#images.length),
      usage,
      costNanos: costOfCall(this.#ctx),
      addressOf: undefined,
    });
    return { recordText };
  }

  get #isComplete(): boolean {
    return this.#images.length >= this.#drawing.ask.count;
  }

  #hear(events: readonly SseEvent[]): PassedEvents {
    return passEvents(events, ({ data }) => {
      const event = data === undefined ? undefined : parsed(data);
      if (!event) return undefined;
      const { image, isPartial, usage, error } = this.#reader.read(event);
      if (error !== undefined) return this.#ctx.vendorCall.fault(readVendorError(error, undefined));
      if (image) this.#images.push(image);
      if (isPartial) this.#partials++;
      this.#usage = usage ?? this.#usage;
      return undefined;
    });
  }
}

function parsed(data: string): JsonRecord | undefined {
  try {
    const value: unknown = JSON.parse(data);
    return isRecord(value) ? value : undefined;
  } catch {
    return undefined;
  }
}
