import {
  graceMs,
  type LeaseAnswer,
  type LeaseRequest,
  type RateLimits,
  unitsPerToken,
} from "./rate_limit.ts";

/**
 * The bucket of an account as the database keeps it. The sum of what is free and of what each
 * owner can spend never exceeds the burst, and all of them together refill at the rate, so what
 * is admitted anywhere fits one token bucket. All numbers are integers: units, milliseconds of the
 * database's clock, units per millisecond.
 */
export interface Bucket {
  /** Free units. */
  level: number;
  /** Time up to which the refill is counted. */
  settledAtMs: number;
  holders: readonly LeaseOwner[];
  /** Set by a change of tier: the next process that leases finds the bucket full. */
  fill: boolean;
}

/** A process that holds tokens. */
export interface LeaseOwner {
  process: string;
  leaseId: string;
  /** Units held at its last report. */
  held: number;
  /** Upper bound of units it may have issued itself since its last report. */
  selfIssued: number;
  /** Units per millisecond that it issues itself while it has no contact to the database. */
  share: number;
  /** It stops issuing at this many units. */
  ceiling: number;
  /** Tokens spent under this lease by its last report. */
  spent: number;
  sinceMs: number;
  /** Its process's last heartbeat when the lease began; absent if there was none. */
  heartbeatBeforeMs?: number | undefined;
  expiresAtMs: number;
}

/** Last heartbeat per process id (database time, ms). */
export type Heartbeat = Readonly<Record<string, number>>;

/** A bucket that nobody has used yet. */
export function fullBucket(limits: RateLimits, nowMs: number): Bucket {
  return { level: limits.burst * unitsPerToken, settledAtMs: nowMs, holders: [], fill: false };
}

/**
 * One process reports and leases. A grant is a small fraction of what is left, so leases shrink to
 * single tokens as the bucket empties and none sit idle in another process.
 */
export function leaseFrom(
  before: Bucket,
  request: LeaseRequest,
  limits: RateLimits,
  nowMs: number,
  heartbeats: Heartbeat,
): { bucket: Bucket; answer: LeaseAnswer } {
  const bucket = settle(before, limits, nowMs, heartbeats);
  const others = bucket.holders.filter(({ leaseId }) => leaseId !== request.leaseId);
  const existing = bucket.holders.find(({ leaseId }) => leaseId === request.leaseId);
  const mine = existing ? unspent(existing, request.spent, request.has) : 0;
  const burst = limits.burst * unitsPerToken;
  // What others hold counts as part of a full bucket, and what they spent before does not. Tokens
  // that the process issued itself may have been spent since the change, so they don't count
  // either.
  const issued = existing ? Math.max(0, spentUnits(existing, request.spent) - existing.held) : 0;
  const pool = bucket.fill
    ? Math.max(mine, burst - sum(others, outstanding) - issued)
    : bucket.level + mine;
  const room = Math.max(0, burst - sum(others, reserve));
  const usable = Math.floor(Math.min(pool, room) / unitsPerToken);
  const processes = others.length + 1;
  const stock = Math.floor(usable / (4 * processes));
  const withheld = Math.min(request.withheld, Math.floor(mine / unitsPerToken));
  const tokens = Math.max(
    withheld,
    Math.min(usable, Math.max(request.needed, Math.min(request.wanted, stock))),
  );
  const free = pool - tokens * unitsPerToken;
  const answered = selfIssue(limits, others, room);
  const me: LeaseOwner = {
    process: request.process,
    leaseId: request.leaseId,
    held: tokens * unitsPerToken,
    selfIssued: 0,
    // The answer may be lost: until its next report the process may use the share it had before.
    share: Math.max(answered.share, Math.min(request.share, existing?.share ?? 0)),
    ceiling: Math.max(answered.ceiling, Math.min(request.ceiling, existing?.ceiling ?? 0)),
    spent: request.spent,
    sinceMs: existing?.sinceMs ?? bucket.settledAtMs,
    // Under another name only that name's heartbeats count.
    heartbeatBeforeMs: existing ? existing.heartbeatBeforeMs : heartbeats[request.process],
    expiresAtMs: bucket.settledAtMs + request.leaseMs,
  };
  return {
    bucket: {
      settledAtMs: bucket.settledAtMs,
      level: free,
      holders: request.leave ? others : [...others, me],
      fill: false,
    },
    answer: {
      limits,
      tokens,
      stock,
      rest: free + sum(others, (one) => outstanding(one)),
      free,
      ...answered,
    },
  };
}

/**
 * Returns what one more process, besides the others, may issue itself while it has no contact:
 * units per millisecond, and the units at which it stops.
 */
function selfIssue(
  { burst, requestsPerMinute: rate }: RateLimits,
  others: readonly LeaseOwner[],
  room: number,
): { share: number; ceiling: number } {
  const processes = others.length + 1;
  // Half of the burst is set aside for ceilings, so that newcomers always find room.
  const half = Math.floor(burst * unitsPerToken / 2);
  const partOf = (whole: number, taken: number) =>
    Math.max(0, Math.min(Math.floor(whole / processes), whole - taken));
  const share = partOf(rate, sum(others, (one) => one.share));
  const ceiling = Math.min(partOf(half, sum(others, (one) => one.ceiling)), room);
  return { share, ceiling: ceiling < unitsPerToken ? 0 : ceiling };
}

/** Counts the refill up to now, without the shares that silent owners issue themselves. */
function settle(before: Bucket, limits: RateLimits, nowMs: number, heartbeats: Heartbeat): Bucket {
  let bucket = nowMs < before.settledAtMs ? setBack(before, nowMs) : before;
  const silentFrom = (one: LeaseOwner) => {
    const lastHeartbeatMs = heartbeats[one.process];
    // A heartbeat in the future means that the clock was set back: it may have been silent for long.
    if (lastHeartbeatMs !== undefined && lastHeartbeatMs > nowMs) return -Infinity;
    // A later heartbeat may have an earlier time, if the clock was set back before it.
    const hasBeatSince = lastHeartbeatMs !== one.heartbeatBeforeMs;
    return (hasBeatSince ? lastHeartbeatMs ?? 0 : one.sinceMs) + graceMs;
  };
  const steps = bucket.holders
    .flatMap((one) => [silentFrom(one), one.expiresAtMs])
    .filter((atMs) => atMs > bucket.settledAtMs && atMs < nowMs)
    .sort((a, b) => a - b);
  for (const atMs of [...steps, nowMs]) bucket = flow(bucket, limits, atMs, silentFrom);
  return bucket;
}

/** Refills the bucket up to a time before which no owner falls silent and no lease ends. */
function flow(
  bucket: Bucket,
  limits: RateLimits,
  atMs: number,
  silentFrom: (one: LeaseOwner) => number,
): Bucket {
  const { level, settledAtMs, holders } = bucket;
  const burst = limits.burst * unitsPerToken;
  const isSilent = (one: LeaseOwner) => one.ceiling > 0 && silentFrom(one) <= settledAtMs;
  const silent = holders.filter(isSilent);
  const rate = limits.requestsPerMinute - sum(silent, (one) => one.share);
  // After this long the bucket is full; longer times would not be exact.
  const elapsedMs = Math.min(atMs - settledAtMs, Math.ceil(burst / Math.max(1, rate)));
  const after = holders.map((one) => {
    if (!isSilent(one)) return one;
    // Silent before its lease began: the clock was set back, and it may have been silent for long.
    const isUnbounded = silentFrom(one) < one.sinceMs;
    const issued = one.selfIssued + one.share * (atMs - settledAtMs);
    return { ...one, selfIssued: isUnbounded ? Math.max(issued, reserve(one) - one.held) : issued };
  });
  const cap = burst - sum(after, (one) => Math.min(reserve(one), one.held + one.selfIssued));
  return {
    fill: bucket.fill,
    level: Math.max(0, Math.min(level + rate * elapsedMs, cap)),
    settledAtMs: atMs,
    // What a dead process held may have been spent, so it isn't granted again: the refill brings
    // it back.
    holders: after.filter((one) => one.expiresAtMs > atMs),
  };
}

/** The most that an owner can have at any one time. */
function reserve(one: LeaseOwner): number {
  return Math.max(one.held, one.ceiling);
}

/** What an owner may have, as far as is known. */
function outstanding(one: LeaseOwner): number {
  return one.selfIssued > 0 ? reserve(one) : one.held;
}

/** What an owner has spent since its last report. */
function spentUnits(one: LeaseOwner, spent: number): number {
  return (spent - one.spent) * unitsPerToken;
}

/** What an owner has left after spending this many tokens. */
function unspent(one: LeaseOwner, spent: number, has: number): number {
  const left = Math.max(0, one.held + one.selfIssued - spentUnits(one, spent));
  // It can't have issued beyond its ceiling; only the owner knows the exact amount.
  return one.selfIssued > 0 ? Math.min(left, reserve(one), has) : left;
}

/**
 * Adjusts a bucket after the database's clock was set back, when the time that has passed is
 * unknown: nothing is refilled for it, and owners may have issued up to their ceilings. Only
 * heartbeats tell who isn't silent.
 */
function setBack(bucket: Bucket, nowMs: number): Bucket {
  const byMs = nowMs - bucket.settledAtMs;
  return {
    ...bucket,
    settledAtMs: nowMs,
    holders: bucket.holders.map((one) => ({
      ...one,
      selfIssued: Math.max(one.selfIssued, reserve(one) - one.held),
      ...{ sinceMs: 0, heartbeatBeforeMs: undefined },
      expiresAtMs: one.expiresAtMs + byMs,
    })),
  };
}

function sum<T>(items: readonly T[], of: (item: T) => number): number {
  return items.reduce((total, item) => total + of(item), 0);
}
