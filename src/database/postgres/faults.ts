import { Fault, messageOf } from "../../shared/fault.ts";

/** SQLSTATE of a server that accepts no more connections. */
export const tooManyConnections = "53300";

/** The driver's code of a connection attempt that nobody answered in time. */
export const connectTimeout = "CONNECT_TIMEOUT";

/** SQLSTATE of a write to a server that only reads: a standby, or a primary that became one. */
export const readOnly = "25006";

/** SQLSTATE of a row whose key exists already. */
export const uniqueViolation = "23505";

/** SQLSTATE of a lock that wasn't granted within `lock_timeout`. */
const lockNotAvailable = "55P03";

/** SQLSTATE of a cancelled statement: by `statement_timeout` or the operator. */
const queryCanceled = "57014";

/**
 * SQLSTATEs of a server whose disk or memory is full, or whose disk fails. It takes no writes for a
 * while; the session can still be used.
 */
const noRoom: ReadonlySet<string> = new Set(["53100", "53200", "58030"]);

export function isOutOfRoom(thrown: unknown): boolean {
  return noRoom.has(codeOf(thrown) ?? "");
}

/**
 * SQLSTATEs of a statement that gave way to others: a serialization failure, a deadlock, a lock
 * that wasn't granted within `lock_timeout`. A retry may succeed a moment later; the session can
 * still be used.
 */
const gaveWay: ReadonlySet<string> = new Set(["40001", "40P01", lockNotAvailable]);

/** Whether another session held a lock for longer than `lock_timeout`. */
export function isLockTimeout(thrown: unknown): boolean {
  return codeOf(thrown) === lockNotAvailable;
}

/** Whether the session can still be used after this error. */
export function isSessionSound(thrown: unknown): boolean {
  return isOutOfRoom(thrown) || gaveWay.has(codeOf(thrown) ?? "");
}

/** The code of any thrown value: an SQLSTATE, the driver's own, or the operating system's. */
export function codeOf(thrown: unknown): string | undefined {
  const cause = thrown instanceof Fault ? thrown.cause : thrown;
  if (typeof cause !== "object" || cause === null || !("code" in cause)) return undefined;
  return String(cause.code);
}

/**
 * Returns `store_unavailable` if the server is unreachable, cancels a slow read or lets others go
 * first, else the error itself.
 */
export function asFault(thrown: unknown): unknown {
  const code = codeOf(thrown);
  if (thrown instanceof Fault || code === undefined) return thrown;
  if (code === queryCanceled) {
    return new Fault("store_unavailable", {
      message: "This query took too long: narrow it, first by time.",
      note: "PostgreSQL: statement_timeout",
      cause: thrown,
    });
  }
  return gaveWay.has(code) || awayCodes.has(code) || code.startsWith("08")
    ? asAway(thrown)
    : thrown;
}

/** Returns `store_unavailable`, whatever the error is: of a session that can't be opened. */
export function asAway(thrown: unknown): Fault {
  if (thrown instanceof Fault) return thrown;
  const code = codeOf(thrown);
  const text = code === readOnly ? "a server that takes no writes" : messageOf(thrown);
  // The driver's own messages begin with their code.
  const parts = code === undefined || text.includes(code) ? [text] : [code, text];
  const note = `PostgreSQL: ${parts.filter((part) => part !== "").join(", ")}`;
  return new Fault("store_unavailable", { note, cause: thrown });
}

/** An error with a code, where neither the driver nor the server has thrown one. */
export function codedError(code: string): Error {
  return Object.assign(new Error(code), { code });
}

/**
 * Codes of a server that is unreachable, shutting down, full or out of room, is no longer the
 * primary, has dropped the database, or has ended a session whose transaction was idle for too long.
 */
const awayCodes: ReadonlySet<string> = new Set([
  "ECONNREFUSED",
  "ECONNRESET",
  "ECONNABORTED",
  "ETIMEDOUT",
  "EPIPE",
  "ENOTCONN",
  "ENOTFOUND",
  "EAI_AGAIN",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "ENETDOWN",
  "EMFILE",
  "ENOENT",
  "CONNECTION_CLOSED",
  "CONNECTION_ENDED",
  "CONNECTION_DESTROYED",
  connectTimeout,
  tooManyConnections,
  ...noRoom,
  readOnly,
  "25P03",
  "57P01",
  "57P02",
  "57P03",
  "57P04",
]);

/**
 * Returns the error of a failed write of rows: unchanged if the rows are at fault, else
 * `store_unavailable`. A full disk, a deadlock, a read-only server after a failover or a table that
 * a migration has yet to create would otherwise count against each row.
 */
export function asRowFault(thrown: unknown): unknown {
  const code = codeOf(thrown);
  if (thrown instanceof Fault || code === undefined || !isSqlState(code)) return thrown;
  if (rowErrors.some((prefix) => code.startsWith(prefix))) return thrown;
  const note = `the store takes no rows (${code}): ${messageOf(thrown)}`;
  return new Fault("store_unavailable", { note, cause: thrown });
}

/** Whether the code is the server's: those of the operating system have no digits. */
export function isSqlState(code: string): boolean {
  return /^[0-9A-Z]{5}$/.test(code) && /[0-9]/.test(code);
}

/**
 * Data exceptions, violated constraints, exceeded limits, and internal errors, such as a value that
 * is too large (PostgreSQL's manual, "Error Codes").
 */
const rowErrors = ["22", "23", "54", "XX000"];
