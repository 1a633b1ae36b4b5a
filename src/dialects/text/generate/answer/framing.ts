import type { SseEvent } from "../../../../base/sse.ts";
import type { Fault } from "../../../../shared/fault.ts";
import type { StreamReframer } from "../../../kernel/dialect.ts";
import { sseComment } from "../../../kernel/sse_comment.ts";
import { canonicalStatus } from "../../../../../contracts/kernel/error_bodies.ts";
import { errors } from "../../../../../contracts/kernel/errors.ts";

/** How the elements of a stream are put into text. */
export interface Framing {
  /** One element, given as JSON text. */
  element(json: string): string;
  /** After the last element. */
  close(): string;
  /** After an error, in place of `close`. */
  closeFailed(): string;
  /** What may stand between elements and says nothing. */
  readonly nothing: string;
}

/** `alt=sse`: one event an element, and no end marker. */
export const sseFraming: Framing = {
  element: (json) => `data: ${json}\r\n\r\n`,
  close: () => "",
  // The official client (3.1.0) overlooks an error whose code is a string, but throws at an end
  // without a blank line: a comment there keeps a failed stream from being taken for a whole one.
  closeFailed: () => ": the stream failed",
  nothing: sseComment,
};

/** No `alt`: one JSON array. An answer without elements is an empty array. */
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
 * The `error` object inside a stream of this dialect: the official client raises only when `code`
 * is a status of 400–599, so there it is that, as a string of digits, and our own code is the
 * `reason`.
 */
export function streamErrorBody(fault: Fault): Record<string, unknown> {
  const { status, type } = errors[fault.code];
  return {
    error: {
      code: String(status),
      message: fault.message,
      status: canonicalStatus(status),
      type,
      reason: fault.code,
    },
  };
}
