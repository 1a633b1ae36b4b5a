import { WebSocket } from "ws";

/** A caller's WebSocket of the responses dialect. Events are queued until a test reads them. */
export interface TestSocket extends AsyncDisposable {
  /** Sends an object as JSON, or a text unchanged. */
  send(frame: Record<string, unknown> | string): void;
  /** Returns the next event of this type and drops those before. Rejects if the socket closes. */
  until(type: string): Promise<Record<string, unknown>>;
  /** Returns all events up to the one that ends a response, or an error. */
  answer(): Promise<Record<string, unknown>[]>;
  /** Sends a `response.create` and returns its answer; throws for an error. */
  ask(request: Record<string, unknown>): Promise<Record<string, unknown>[]>;
  /** Sends a frame and returns the answer, which may be an error. */
  exchange(frame: Record<string, unknown> | string): Promise<Record<string, unknown>[]>;
  /** Resolves with the close code. */
  readonly closed: Promise<number>;
  close(): Promise<void>;
}

const last = new Set([
  "response.completed",
  "response.incomplete",
  "response.failed",
  "response.cancelled",
]);

/** Whether the answer is complete: an error ends it, but midway response.failed follows. */
function isEnd(events: readonly Record<string, unknown>[]): boolean {
  const type = String(events.at(-1)?.type);
  return last.has(type) || (type === "error" && events[0]?.type !== "response.created");
}

export async function openSocket(
  at: { baseUrl: string; key: string },
  path = "/chat/v1",
  headers: Record<string, string> = {},
): Promise<TestSocket> {
  const socket = new WebSocket(`${at.baseUrl.replace(/^http/, "ws")}${path}/responses`, {
    headers: { authorization: `Bearer ${at.key}`, ...headers },
    perMessageDeflate: false,
  });
  const events: Record<string, unknown>[] = [];
  let wake = () => {};
  const closed = Promise.withResolvers<number>();
  let isClosed = false;
  socket.on("message", (data: Uint8Array) => {
    events.push(JSON.parse(new TextDecoder().decode(data)));
    wake();
  });
  socket.on("close", (code: number) => {
    isClosed = true;
    closed.resolve(code);
    wake();
  });
  const opened = Promise.withResolvers<void>();
  socket.on("open", () => opened.resolve());
  socket.on("error", (error: Error) => opened.reject(error));
  await opened.promise;
  const next = async () => {
    for (;;) {
      const event = events.shift();
      if (event !== undefined) return event;
      if (isClosed) throw new Error("the socket was closed");
      await new Promise<void>((resolve) => wake = resolve);
    }
  };
  const send: TestSocket["send"] = (frame) =>
    socket.send(typeof frame === "string" ? frame : JSON.stringify(frame));
  const answer = async () => {
    const all: Record<string, unknown>[] = [];
    for (;;) {
      const event = await next();
      all.push(event);
      if (isEnd(all)) return all;
    }
  };
  const exchange: TestSocket["exchange"] = (frame) => {
    send(frame);
    return answer();
  };
  const close = async () => {
    socket.close();
    await closed.promise;
  };
  return {
    ...{ send, answer, exchange, close, closed: closed.promise },
    async until(type) {
      for (;;) {
        const event = await next();
        if (event.type === type) return event;
      }
    },
    async ask(request) {
      const all = await exchange({ type: "response.create", ...request });
      if (all.at(-1)?.type === "error") throw new Error(JSON.stringify(all.at(-1)));
      return all;
    },
    [Symbol.asyncDispose]: close,
  };
}
