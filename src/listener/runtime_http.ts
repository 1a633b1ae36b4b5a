import { createRequire } from "node:module";
import type { Server } from "node:http";
import type { Socket } from "node:net";

// All access to the internals of the runtime's `node:http` is here.

/**
 * Makes the runtime reuse no HTTP parsers. It keeps them in a pool that servers and clients share,
 * and a connection whose head was refused goes on feeding the parser that it had: what a stranger
 * sent after a 431 was read as a vendor's answer to somebody else's call (docs/decisions, 0097).
 * A pool without places keeps none: each parser is closed with its connection. Throws if that can't
 * be done: a listener that would mix up callers must not start.
 */
export function keepNoParsers(inside: unknown = insideOfHttp()): void {
  const parsers = parsersIn(inside);
  if (parsers === undefined) {
    throw new SharedParsersError(
      "this runtime's node:http has no pool of parsers that can be switched off, and connections could read each other's bytes: start the service with the Deno release that it was made for",
    );
  }
  parsers.max = 0;
  parsers.list.length = 0;
  // Checks that it works: a pool that still keeps a parser counts its places in another way.
  const parser = parsers.alloc();
  const isReusable = parsers.free(parser);
  if (isReusable !== false || parsers.list.length > 0) {
    throw new SharedParsersError(
      "this runtime's node:http keeps parsers although its pool has no places: start the service with the Deno release that it was made for",
    );
  }
  parser.close();
}

/**
 * This runtime can't keep connections apart. The message is one line that says so and what to do.
 */
export class SharedParsersError extends Error {
  override name = "SharedParsersError";
}

interface Pool {
  max: number;
  list: unknown[];
  alloc(): { close(): void };
  /** False if it didn't keep the parser. */
  free(parser: unknown): boolean;
}

function parsersIn(inside: unknown): Pool | undefined {
  if (!isRecord(inside)) return undefined;
  const { parsers } = inside;
  const fits = isRecord(parsers) && typeof parsers.max === "number" &&
    Array.isArray(parsers.list) && isFunction(parsers.alloc) && isFunction(parsers.free);
  return fits ? parsers as unknown as Pool : undefined;
}

function insideOfHttp(): unknown {
  try {
    return createRequire("file:///")("_http_common");
  } catch {
    return undefined;
  }
}

/**
 * Calls `onRead` after each piece that a connection's parser has read, with its length. On plain
 * connections the parser reads past the socket, which then emits no event for these bytes.
 */
export function afterEachRead(
  socket: Socket & { parser?: unknown },
  onRead: (bytes: number) => void,
): void {
  socket.on("data", ({ length }: Uint8Array) => onRead(length));
  const { parser } = socket;
  if (!isRecord(parser) || parser._consumed !== true) return;
  const key = executeKey(parser);
  const execute = parser[key];
  if (!isFunction(execute)) return;
  const executeAndNotify = (...args: unknown[]) => {
    execute(...args);
    onRead(typeof args[0] === "number" ? args[0] : 0);
  };
  parser[key] = executeAndNotify;
}

/** From now on the connection's parser gets none of its bytes; the socket emits them. */
export function detachParser({ parser }: Socket & { parser?: unknown }): void {
  if (!isRecord(parser) || parser._consumed !== true || !isFunction(parser.unconsume)) return;
  parser.unconsume();
  parser._consumed = false;
}

/**
 * Makes a listening server keep no list of its requests under way. The runtime has the list for
 * time limits that are off here. It's a `Map` that every request changes twice, whose old tables
 * kept each request that was under way at a scavenge alive until a major collection
 * (docs/decisions, 0368). Returns false if this runtime has no such list.
 */
export function listNoRequests(server: Server): boolean {
  const key = Object.getOwnPropertySymbols(server).find(({ description }) =>
    description === "http.server.connections"
  );
  const list = key && Reflect.get(server, key);
  if (!isRecord(list) || !listChanges.every((change) => isFunction(list[change]))) return false;
  for (const change of listChanges) list[change] = nothing;
  return true;
}

const listChanges = ["pushActive", "popActive", "popActiveIfReq", "markHeadersCompleted"];

function nothing(): void {}

/** `HTTPParser.kOnExecute`. */
function executeKey(parser: Record<string | number, unknown>): number {
  const kOnExecute = (parser.constructor as { kOnExecute?: unknown } | undefined)?.kOnExecute;
  return typeof kOnExecute === "number" ? kOnExecute : 5;
}

function isRecord(value: unknown): value is Record<string | number, unknown> {
  return typeof value === "object" && value !== null;
}

function isFunction(value: unknown): value is (...args: unknown[]) => unknown {
  return typeof value === "function";
}
