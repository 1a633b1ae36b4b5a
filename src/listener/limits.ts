/** How long connections may take, and how many there may be. */
export interface ConnectionLimits {
  /**
   * Time for the TLS handshake, and again for the first head; for a later head from its first byte
   * on.
   */
  readonly headMs: number;
  /** Longest silence within a body. */
  readonly bodyMs: number;
  /** Least average rate of a body over `rateSpanMs`. */
  readonly bodyBytesPerSecond: number;
  readonly rateSpanMs: number;
  /** Longest silence between requests, and longest time that a complete answer may stay unread. */
  readonly idleMs: number;
  /** Longest time in which the caller reads nothing of an answer that is still being written. */
  readonly unreadMs: number;
  /** Connections at once. */
  readonly most: number;
  /** Connections at once from one address. */
  readonly maxPerPeer: number;
}

/** An honest upload on a bad line is faster. */
const minBodyRate = { bodyBytesPerSecond: 1024, rateSpanMs: 30_000 };

/** Returns the limits that the configuration sets. */
export function limitsOf(config: {
  readonly callerHeadTimeoutMs: number;
  readonly callerBodyTimeoutMs: number;
  readonly callerIdleTimeoutMs: number;
  readonly callerUnreadTimeoutMs: number;
  readonly connectionsMax: number;
  readonly connectionsPerPeerMax: number;
  readonly trustProxy: boolean;
}): ConnectionLimits {
  return {
    headMs: config.callerHeadTimeoutMs,
    bodyMs: config.callerBodyTimeoutMs,
    ...minBodyRate,
    idleMs: config.callerIdleTimeoutMs,
    unreadMs: config.callerUnreadTimeoutMs,
    most: config.connectionsMax,
    // All connections of a proxy have its address.
    maxPerPeer: config.trustProxy ? Infinity : config.connectionsPerPeerMax,
  };
}
