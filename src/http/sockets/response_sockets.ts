import type { IncomingMessage } from "node:http";
import type { ByteGate } from "../../base/byte_gate.ts";
import type { SocketHandler, SocketOffer } from "../../base/frame_channel.ts";
import { maskSecrets } from "../../base/secret.ts";
import type { HeavyBodies } from "../../base/heavy_json.ts";
import type { SocketFrames } from "../../dialects/kernel/socket_frames.ts";
import { Fault, overLimit } from "../../shared/fault.ts";
import type { Reply } from "../../relay/reply.ts";
import type { CallSteps } from "../direct_calls.ts";
import type { FoundEndpoint } from "../direct_endpoints.ts";
import { asFault, errorReply } from "../errors.ts";
import type { FrontDoor } from "../front_door.ts";
import { httpsAddress } from "../middleware/https.ts";
import { newRequestContext } from "../middleware/request_context.ts";
import { addServiceHeaders } from "../middleware/response_headers.ts";
import type { RequestContext } from "../request_context.ts";
import { nameAnswer } from "../respond.ts";
import { ResponseSocket } from "./response_socket.ts";
import type { SocketTurns } from "./socket_turns.ts";

export interface ResponseSocketsDeps extends CallSteps {
  /** `RESPONSES_WEBSOCKET`. If false, handshakes get 426, on which clients fall back to HTTP. */
  isEnabled: boolean;
  /** The frame codec of the dialect whose endpoints are called. */
  frames: SocketFrames;
  baseUrl: string | undefined;
  frontDoor: Partial<Pick<FrontDoor, "enter" | "ended">>;
  /** Bounds the memory of arriving messages; separate from the gate of the endpoints' bodies. */
  messages: ByteGate;
  heavy: HeavyBodies;
  turns: SocketTurns;
  /** Limit on the open sockets of one account in this process. */
  maxPerAccount: number;
  newId: () => string;
}

/** Whether a request asks for a WebSocket of the responses dialect. */
export function asksForResponses({ method, url = "", headers }: IncomingMessage): boolean {
  return method === "GET" && headers.upgrade?.toLowerCase() === "websocket" &&
    /^[^?]*\/responses(?:\?|$)/.test(url);
}

/**
 * Responses over WebSocket: wherever `POST …/responses` is, `GET` with an upgrade opens a socket
 * whose `response.create` frames are calls like any other, each with its own checks, money and record.
 */
export function createResponseSockets(deps: ResponseSocketsDeps): SocketHandler {
  const open = new Map<number, number>();
  return {
    takes: asksForResponses,
    take(offer) {
      answer(deps, open, offer).catch((thrown) => {
        deps.onFault(asFault(thrown), { requestId: "" });
        offer.request.socket.destroy();
      });
    },
  };
}

async function answer(
  deps: ResponseSocketsDeps,
  open: Map<number, number>,
  offer: SocketOffer,
): Promise<void> {
  const { request } = offer;
  const path = (request.url ?? "").split("?", 1)[0]!;
  const headers = headersOf(request);
  const header = (name: string) => headers.get(name);
  const remoteHost = request.socket.remoteAddress ?? "";
  const context = newRequestContext(deps.contexts, header, { remoteHost, incoming: request });
  const found = deps.endpoints.find("POST", path);
  if (found !== undefined) context.route = path;
  const refusal = await refusalOf(deps, open, { context, path, header, found });
  if (refusal !== undefined || found === undefined) {
    return refuse(deps, offer, context, path, refusal!);
  }
  const accountId = context.principal!.account.id;
  const socket = new ResponseSocket({ ...deps, found, path, remoteHost, headers }, request);
  const channel = offer.accept(socket);
  deps.accessLog(context, "GET", channel === undefined ? 400 : 101);
  if (channel === undefined) return;
  open.set(accountId, (open.get(accountId) ?? 0) + 1);
  socket.opened(channel, accountId, () => {
    const left = (open.get(accountId) ?? 0) - 1;
    if (left > 0) open.set(accountId, left);
    else open.delete(accountId);
  });
}

interface Handshake {
  context: RequestContext;
  path: string;
  header: (name: string) => string | undefined;
  found: FoundEndpoint | undefined;
}

/** Returns the handshake's refusal, if any. The checks have the same order as for every request. */
async function refusalOf(
  deps: ResponseSocketsDeps,
  open: ReadonlyMap<number, number>,
  { context, path, header, found }: Handshake,
): Promise<Reply | undefined> {
  const refused = (fault: Fault) => {
    deps.onFault(fault, context);
    return errorReply(fault, deps.errorDialect(path), context.requestId);
  };
  const proto = deps.contexts.trustProxy ? header("x-forwarded-proto") : undefined;
  if (proto?.split(",").at(-1)?.trim().toLowerCase() === "http") {
    const host = header("host");
    const location = httpsAddress(`http://${host ?? "localhost"}${path}`, host, deps.baseUrl);
    return { status: 308, headers: { location }, body: null };
  }
  if (!deps.isEnabled) return refused(new Fault("websocket_unsupported"));
  const noKey = await deps.authenticate(context, { path, header });
  if (noKey !== undefined) return noKey;
  const { refusal } = await deps.rateCheck(context, path);
  if (refusal !== undefined) return refusal;
  if (found === undefined) {
    return refused(
      new Fault("endpoint_not_found", {
        message: `No such endpoint: GET ${maskSecrets(path).slice(0, 200)}`,
      }),
    );
  }
  if ((open.get(context.principal!.account.id) ?? 0) < deps.maxPerAccount) return undefined;
  return refused(
    overLimit(`This account has ${deps.maxPerAccount} WebSockets open. Close one first.`, 10),
  );
}

function refuse(
  deps: ResponseSocketsDeps,
  offer: SocketOffer,
  context: RequestContext,
  path: string,
  { status, headers, body }: Reply,
): void {
  const all = new Map(Object.entries(headers));
  nameAnswer(all, context);
  addServiceHeaders(all, context, deps.errorDialect(path));
  deps.accessLog(context, "GET", status);
  offer.refuse({ status, headers: Object.fromEntries(all), body: String(body ?? "") });
}

/** Headers of the handshake that its calls don't inherit. */
const notOfCalls = new Set([
  ...["connection", "upgrade", "content-length", "content-type", "transfer-encoding", "origin"],
  // An id names one call, and a socket has many.
  ...["x-request-id", "idempotency-key"],
]);

/** Returns the handshake's headers that each call inherits, by lower-case names. */
function headersOf({ rawHeaders }: IncomingMessage): Map<string, string> {
  const headers = new Map<string, string>();
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at]!.toLowerCase();
    if (notOfCalls.has(name) || name.startsWith("sec-websocket-")) continue;
    const earlier = headers.get(name);
    headers.set(
      name,
      earlier === undefined ? rawHeaders[at + 1]! : `${earlier}, ${rawHeaders[at + 1]}`,
    );
  }
  withoutOwnBeta(headers);
  return headers;
}

/** Removes `OpenAI-Beta: responses_websockets=…`: vendors are called over HTTP. */
function withoutOwnBeta(headers: Map<string, string>): void {
  const betas = headers.get("openai-beta")?.split(",").map((one) => one.trim());
  const others = betas?.filter((one) => !one.startsWith("responses_websockets"));
  if (others === undefined) return;
  if (others.length > 0) headers.set("openai-beta", others.join(", "));
  else headers.delete("openai-beta");
}
