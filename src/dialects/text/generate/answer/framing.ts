import type { SseEvent } from "../../../../base/sse.ts";
import type { Fault } from "../../../../shared/fault.ts";
import type { StreamReframer } from "../../../kernel/dialect.ts";
import { sseComment } from "../../../kernel/sse_comment.ts";
import { canonicalStatus } from "../../../../../contracts/kernel/error_bodies.ts";
import { errors } from "../../../../../contracts/kernel/errors.ts";

export interface Framing {
  element(json: string): string;
  /** After the last element. */
  close(): string;
  /** After an error, in place of `close`. */
  closeFailed(): string;
  /** Keep-alive text that is valid between elements and carries nothing. */
  readonly nothing: string;
}

/** `alt=sse`: one event per element, no end marker. */
export const sseFraming: Framing = {
  element: (json) => `data: ${json}\r\n\r\n`,
  close: () => "",
  // Google's earlier client (`@google/generative-ai`) reads no errors in a stream, but throws if the
  // stream ends without a blank line. This comment makes it throw, so that a failed stream isn't
  // taken for a complete one.
  closeFailed: () => ": the stream failed",
  nothing: sseComment,
};

/** No `alt`: one JSON array, which may be empty. */
export class ArrayFraming implements Framing {
  readonly nothing = "\r\n";
  #opened = false;

  element(json: string): string {
    const before = this.#opened ? ",\r\n" : "[";
    this.#opened = true;
    return before + json;
  }

  close(): string {
    return this.#opened ? "]" : "[]";
  }

  closeFailed(): string {
    return this.close();
  }
}

/** Rewrites a vendor's events as a JSON array; each element stays as the vendor wrote it. */
export class ArrayReframer implements StreamReframer {
  readonly #framing = new ArrayFraming();

  event(event: SseEvent): string {
    const data = event.data?.trim();
    return data === undefined || data === "" ? "" : this.#framing.element(data);
  }

  end(): string {
    return this.#framing.close();
  }

  fail(fault: Fault): string {
    return failedStream(this.#framing, fault);
  }
}

/** Ends a stream with its error as the last element. */
export function failedStream(framing: Framing, fault: Fault): string {
  return framing.element(JSON.stringify(streamErrorBody(fault))) + framing.closeFailed();
}

/**
 * Returns the body with the `error` object inside a stream. Google's clients throw if `code` is a
 * status of 400–599, those of Python and Go only if it is a number; `reason` is our own code.
 */
function streamErrorBody(fault: Fault): Record<string, unknown> {
  const { status, type } = errors[fault.code];
  return {
    error: {
      code: status,
      message: fault.message,
      status: canonicalStatus(status),
      type,
      reason: fault.code,
    },
  };
}
