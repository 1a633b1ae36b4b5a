import { Fault } from "../../shared/fault.ts";

/** SQLSTATE of a server that answers, but takes no more connections. */
export const tooManyConnections = "53300";

/** SQLSTATE of a statement that was ended, for its time or by the operator. */
const queryCanceled = "57014";

/** The code of any thrown value: an SQLSTATE, the driver's own, or the operating system's. */
export function codeOf(thrown: unknown): string | undefined {
  const cause = thrown instanceof Fault ? thrown.cause : thrown;
  if (typeof cause !== "object" || cause === null || !("code" in cause)) return undefined;
  return String(cause.code);
}

/** What is thrown instead: a fault where the server is away, else the error as it is. */
export function asFault(thrown: unknown): unknown {
  const code = codeOf(thrown);
  if (thrown instanceof Fault || code === undefined) return thrown;
  if (code === queryCanceled) {
    return new Fault("store_unavailable", {
      message: "This took the store too long; narrow what is asked for, by time above all.",
      note: "PostgreSQL: statement_timeout",
      cause: thrown,
    });
  }
  if (!awayCodes.has(code) && !code.startsWith("08")) return thrown;
  return new Fault("store_unavailable", { note: `PostgreSQL: ${code}`, cause: thrown });
}

/** Codes of a server that can't be reached, ends or takes no more connections. */
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
  "CONNECT_TIMEOUT",
  tooManyConnections,
  "57P01",
  "57P02",
  "57P03",
]);
