/** What is wrong with a request, before a dialect puts it into its own error shape. */
export class Problem extends Error {
  /** HTTP status. */
  readonly status: number;
  /** The vendor's error code or type, where its dialect has one. */
  readonly code: string | null;
  /** The offending field in the vendor's own notation. */
  readonly param: string | null;
  /** Seconds for `Retry-After`. */
  readonly retryAfterSeconds: number | null;

  constructor(
    status: number,
    message: string,
    details: { code?: string; param?: string; retryAfterSeconds?: number } = {},
  ) {
    super(message);
    this.status = status;
    this.code = details.code ?? null;
    this.param = details.param ?? null;
    this.retryAfterSeconds = details.retryAfterSeconds ?? null;
  }
}

/** The statuses at which the vendors usually send `Retry-After`, with its seconds. */
export function usualRetryAfter(status: number): number | null {
  return status === 429 || status === 503 || status === 529 ? 1 : null;
}
