import { type Exchange, OpenCall } from "./exchange.ts";
import { asText, parseJson } from "./json.ts";
import { Problem } from "./problem.ts";
import { type VendorState } from "./state.ts";

export interface Route {
  method: "GET" | "POST" | "DELETE";
  /** Tested against the path after the base URL. */
  path: RegExp;
  handle(exchange: Exchange, match: RegExpMatchArray): Response | Promise<Response>;
}

/** One vendor's interface: how it authenticates, its routes, and the form of its errors. */
export interface VendorFront {
  /** The version segment of the base URL, such as `/v1`. */
  basePath: string;
  /** Further version segments under which the same routes answer. */
  otherBasePaths?: readonly string[];
  routes: readonly Route[];
  /** Throws a Problem unless the request carries this vendor's key, and no other. */
  authorize(exchange: Exchange): void;
  refuse(problem: Problem, exchange: Exchange): Response;
}

export interface VendorServer {
  baseUrl: string;
  close(): Promise<void>;
}

/** Serves one simulated vendor on a free port. */
export function serveVendor(
  state: VendorState,
  front: VendorFront,
  hostname: string,
): VendorServer {
  const closing = new AbortController();
  const server = Deno.serve(
    { hostname, port: 0, signal: closing.signal, onListen() {} },
    (request) => answer(request, state, front, closing.signal),
  );
  return {
    baseUrl: `http://${hostname}:${server.addr.port}${front.basePath}`,
    async close() {
      closing.abort();
      await server.finished;
    },
  };
}

async function answer(
  request: Request,
  state: VendorState,
  front: VendorFront,
  closing: AbortSignal,
): Promise<Response> {
  const call = new OpenCall(state);
  request.signal.addEventListener("abort", () => call.leave(), { once: true });
  try {
    const exchange = await receive(request, state, front, closing, call);
    const response = await respond(request.method, exchange, front);
    if (!call.isStreaming) call.finish();
    return response;
  } catch (error) {
    call.finish();
    return new Response(`Fault in the simulator: ${asText((error as Error).stack)}`, {
      status: 500,
    });
  }
}

async function respond(method: string, exchange: Exchange, front: VendorFront): Promise<Response> {
  try {
    front.authorize(exchange);
    for (const route of front.routes) {
      const match = route.method === method ? exchange.path.match(route.path) : null;
      if (match) return await route.handle(exchange, match);
    }
    throw new Problem(404, `Unknown request URL: ${method} ${exchange.url.pathname}`, {
      code: "unknown_url",
    });
  } catch (error) {
    if (error instanceof Problem) return front.refuse(error, exchange);
    throw error;
  }
}

async function receive(
  request: Request,
  state: VendorState,
  front: VendorFront,
  closing: AbortSignal,
  call: OpenCall,
): Promise<Exchange> {
  const url = new URL(request.url);
  const bytes = await request.bytes().catch(() => new Uint8Array());
  const isForm = request.headers.get("content-type")?.startsWith("multipart/") === true;
  const text = isForm ? "" : new TextDecoder().decode(bytes);
  state.remember({
    method: request.method,
    path: url.pathname + url.search,
    headers: Object.fromEntries(request.headers),
    body: isForm ? bytes : text === "" ? undefined : parseJson(text) ?? text,
  }, bytes.length);
  const base = [front.basePath, ...front.otherBasePaths ?? []]
    .find((path) => url.pathname.startsWith(`${path}/`));
  return {
    state,
    url,
    path: base === undefined ? "" : url.pathname.slice(base.length),
    headers: request.headers,
    text,
    bytes,
    signal: AbortSignal.any([request.signal, closing]),
    call,
  };
}
