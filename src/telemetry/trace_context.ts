/** A call's place in a trace (W3C Trace Context). Ids are lower-case hexadecimal. */
export interface TraceContext {
  /** 32 digits. */
  readonly traceId: string;
  /** 16 digits: of the caller's span. */
  readonly spanId: string;
  readonly isSampled: boolean;
}

/**
 * Reads the header `traceparent`; undefined for one that is not valid, which starts a new trace, as
 * the specification demands. Later versions may have more fields after those of version 00.
 */
export function readTraceparent(value: string | undefined): TraceContext | undefined {
  const match = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/.exec(
    value?.trim() ?? "",
  );
  if (!match) return undefined;
  const [, version, traceId, spanId, flags, more] = match as unknown as string[];
  if (version === "ff" || (version === "00" && more !== undefined)) return undefined;
  if (/^0+$/.test(traceId!) || /^0+$/.test(spanId!)) return undefined;
  return { traceId: traceId!, spanId: spanId!, isSampled: (parseInt(flags!, 16) & 1) === 1 };
}

export function newTraceId(): string {
  return randomHex(16);
}

export function newSpanId(): string {
  return randomHex(8);
}

function randomHex(bytes: number): string {
  return crypto.getRandomValues(new Uint8Array(bytes)).toHex();
}
