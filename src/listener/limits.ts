/** How long connections may take, and how many there may be. */
export interface ConnectionLimits {
  /** For the handshake, and again for the first head; for a later head from its first byte on. */
  readonly headMs: number;
  /** Of silence within a body. */
  readonly bodyMs: number;
  /** That a body must bring on average over `rateSpanMs`. */
  readonly bodyBytesPerSecond: number;
  readonly rateSpanMs: number;
  /** Of silence between requests, and of an unread answer that is complete. */
  readonly idleMs: number;
  /** In which nothing is taken of an answer that goes on. */
  readonly unreadMs: number;
  /** Connections at once. */
  readonly most: number;
  /** Of one address. */
  readonly mostPerPeer: number;
}

/** An honest upload on a bad line is faster. */
const leastBodyRate = { bodyBytesPerSecond: 1024, rateSpanMs: 30_000 };

/** Limits as the configuration says them. */
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
    ...leastBodyRate,
    idleMs: config.callerIdleTimeoutMs,
    unreadMs: config.callerUnreadTimeoutMs,
    most: config.connectionsMax,
    // All connections of a proxy have its address.
    mostPerPeer: config.trustProxy ? Infinity : config.connectionsPerPeerMax,
  };
}
