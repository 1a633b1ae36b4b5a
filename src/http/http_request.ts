import type { Context, HonoRequest } from "hono";
import type { Env } from "./request_context.ts";

/** A request as endpoints see it, taken in by the web framework or straight from the listener. */
export interface HttpRequest {
  readonly method: string;
  /** Path of the address, without its query. */
  readonly path: string;
  /** A header by its lower-case name; several of one name are joined by commas. Needs no `this`. */
  readonly header: (name: string) => string | undefined;
  /** Lower-case names of its headers. Needs no `this`. */
  readonly headerNames: () => readonly string[];
  /** Parameters of the address, the first of each name. */
  query(): Record<string, string>;
  /** All of each name. */
  queries(): Record<string, string[]>;
  /** What the route's pattern found in the path. */
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

/** A body that is still to be read, once, in one of these ways. */
export interface RequestBody {
  whole(): Promise<Uint8Array>;
  /** Undefined where there is no body. */
  pieces(): ReadableStreamDefaultReader<Uint8Array> | undefined;
}

/** The request that the web framework routed. */
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
  readonly query = () => this.#request.query();
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
