import { joinBytes } from "../../src/base/bytes.ts";

/** One request and its answer as they went by. Header names are in lower case. */
export interface TappedCall {
  method: string;
  /** Path and query. */
  path: string;
  requestHeaders: Headers;
  requestText: string;
  status: number;
  headers: Headers;
  /** The answer's body so far, without its compression. */
  bytes(): Uint8Array;
  text(): string;
}

/** Listens between two parties: everything goes through unchanged, and is kept. */
export interface Tap {
  /** Stands for the address that is listened to. */
  readonly url: string;
  /** The calls since the last time, oldest first. */
  take(): TappedCall[];
  close(): Promise<void>;
}

/** Starts a tap in front of `target`, an address that may have a path. */
export function startTap(target: string): Tap {
  const { origin, pathname } = new URL(target);
  let calls: TappedCall[] = [];
  const server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen() {} },
    (request) => pass(request, origin, (call) => calls.push(call)),
  );
  return {
    url: `http://127.0.0.1:${server.addr.port}${pathname === "/" ? "" : pathname}`,
    take() {
      const taken = calls;
      calls = [];
      return taken;
    },
    close: () => server.shutdown(),
  };
}

async function pass(
  request: Request,
  origin: string,
  keep: (call: TappedCall) => void,
): Promise<Response> {
  const { pathname, search } = new URL(request.url);
  const requestText = await request.text();
  const headers = new Headers(request.headers);
  headers.delete("host");
  headers.delete("content-length");
  const answer = await fetch(origin + pathname + search, {
    method: request.method,
    headers,
    redirect: "manual",
    signal: request.signal,
    ...(requestText === "" ? {} : { body: requestText }),
  });
  const pieces: Uint8Array[] = [];
  const bytes = () => joinBytes(pieces);
  keep({
    method: request.method,
    path: pathname + search,
    requestHeaders: request.headers,
    requestText,
    status: answer.status,
    headers: answer.headers,
    bytes,
    text: () => new TextDecoder().decode(bytes()),
  });
  const listen = new TransformStream<Uint8Array<ArrayBuffer>, Uint8Array<ArrayBuffer>>({
    transform(piece, controller) {
      pieces.push(piece);
      controller.enqueue(piece);
    },
  });
  const answerHeaders = new Headers(answer.headers);
  // `fetch` has taken the compression off.
  answerHeaders.delete("content-encoding");
  answerHeaders.delete("content-length");
  return new Response(answer.body?.pipeThrough(listen) ?? null, {
    status: answer.status,
    headers: answerHeaders,
  });
}
