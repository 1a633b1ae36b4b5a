import type { Context, HonoRequest } from "hono";
import type { Env } from "./request_context.ts";

/** A request as endpoints see it, received by the web framework or directly by the listener. */
export interface HttpRequest {
  readonly method: string;
  /** The URL's path, without the query. */
  readonly path: string;
  /** Returns a header by its lower-case name, repeated ones joined by commas. Needs no `this`. */
  readonly header: (name: string) => string | undefined;
  /** Returns the lower-case names of the headers. Needs no `this`. */
  readonly headerNames: () => readonly string[];
  /** Returns the query parameters, all values of each name. */
  queries(): Record<string, string[]>;
  /** Returns the path parameters that the route's pattern matched. */
  params(): Record<string, string>;
  /** Aborted when the caller leaves. */
  readonly signal: AbortSignal;
  readonly body: RequestBody;
}

/** The path of a request's target, without its query. */
export function pathOf(target: string): string {
  const query = target.indexOf("?");
  return query < 0 ? target : target.slice(0, query);
}

/** An unread body. It can be read once, whole or in pieces. */
export interface RequestBody {
  whole(): Promise<Uint8Array>;
  /** Undefined if there is no body. */
  pieces(): ReadableStreamDefaultReader<Uint8Array> | undefined;
}

/** Wraps a request that the web framework routed. */
export function requestOf({ req }: Context<Env>): HttpRequest {
  return new RoutedRequest(req);
}

class RoutedRequest implements HttpRequest {
  readonly #request: HonoRequest;
  readonly method: string;
  readonly path: string;
  readonly body: RequestBody;
  readonly header = (name: string) => this.#request.header(name);
  readonly headerNames = () => [...this.#request.raw.headers.keys()];
  readonly queries = () => this.#request.queries();
  readonly params = () => this.#request.param();

  constructor(request: HonoRequest) {
    this.#request = request;
    this.method = request.method;
    this.path = request.path;
    this.body = webBody(request.raw);
  }

  get signal(): AbortSignal {
    return this.#request.raw.signal;
  }
}

export function webBody(request: Request): RequestBody {
  return {
    whole: async () => new Uint8Array(await request.arrayBuffer()),
    pieces: () => request.body?.getReader(),
  };
}
