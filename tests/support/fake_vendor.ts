import { Buffer } from "node:buffer";
import net from "node:net";

/** A request that a vendor received. Header names are in lower case. */
export interface RecordedRequest {
  readonly method: string;
  /** Path and query as sent. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** How a body's end is marked: by chunks, by closing the connection, or by a length in advance. */
export type Framing = "chunked" | "close" | { length: number };

/**
 * One request and the answer that the test writes to it, byte by byte. Nothing here sleeps: pauses
 * last until the test calls the next method. Writes resolve when the kernel has the bytes.
 */
export interface FakeExchange {
  readonly request: RecordedRequest;
  /** 1 for the first connection that was opened, and so on. */
  readonly connection: number;
  /** Sends status line and headers, without a body. */
  head(status: number, headers?: Record<string, string>, framing?: Framing): Promise<void>;
  /** Sends one piece of the body; with `chunked` framing as exactly one chunk. */
  write(piece: string | Uint8Array): Promise<void>;
  /** Ends the body by the framing; the connection stays open unless the framing is `close`. */
  end(): Promise<void>;
  /** Sends a whole answer with a Content-Length; objects are sent as JSON. */
  answer(status: number, body?: unknown, headers?: Record<string, string>): Promise<void>;
  /** Sends a whole streamed answer, each piece as one chunk. */
  stream(pieces: Iterable<string | Uint8Array>, headers?: Record<string, string>): Promise<void>;
  /** Sends bytes unchanged, below HTTP. */
  raw(bytes: string | Uint8Array): Promise<void>;
  /** Closes the connection at once, after the bytes that were written. */
  cut(): void;
  /** Resets the connection (RST); bytes that the other side hasn't read are lost. */
  reset(): void;
  /** Resolves when either side has closed the connection. */
  readonly closed: Promise<void>;
}

/** A vendor under the test's control, on loopback. */
export interface FakeVendor {
  /** `http://127.0.0.1:port`, without a path. */
  readonly url: string;
  readonly port: number;
  /** All requests so far. */
  readonly requests: readonly RecordedRequest[];
  /** Connections opened so far. */
  readonly connections: number;
  /** Connections that are open now. */
  readonly openConnections: number;
  /** Waits for the next request and returns it; only without a script. */
  next(): Promise<FakeExchange>;
  /** Closes open connections that have no request in progress. */
  closeIdle(): void;
  close(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

/** Starts a vendor. Without `script`, requests are answered only by tests that call `next`. */
export async function startFakeVendor(
  script?: (exchange: FakeExchange) => unknown,
): Promise<FakeVendor> {
  const requests: RecordedRequest[] = [];
  const open = new Set<Connection>();
  const unclaimed: FakeExchange[] = [];
  const waiting: ((exchange: FakeExchange) => void)[] = [];
  let connections = 0;
  const server = net.createServer((socket) => {
    const connection = new Connection(socket, ++connections, (exchange) => {
      requests.push(exchange.request);
      if (script) return script(exchange);
      const claim = waiting.shift();
      return claim ? claim(exchange) : unclaimed.push(exchange);
    });
    open.add(connection);
    connection.closed.then(() => open.delete(connection));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as net.AddressInfo;
  const close = () =>
    new Promise<void>((resolve) => {
      server.close(() => resolve());
      for (const connection of open) connection.socket.destroy();
    });
  return {
    url: `http://127.0.0.1:${port}`,
    port,
    requests,
    get connections() {
      return connections;
    },
    get openConnections() {
      return open.size;
    },
    next() {
      const exchange = unclaimed.shift();
      return exchange ? Promise.resolve(exchange) : new Promise((resolve) => waiting.push(resolve));
    },
    closeIdle() {
      for (const connection of open) if (connection.idle) connection.socket.end();
    },
    close,
    [Symbol.asyncDispose]: close,
  };
}

/** Reads the requests on one connection, one after the other. */
class Connection {
  readonly closed: Promise<void>;
  idle = true;
  #received = Buffer.alloc(0);

  constructor(
    readonly socket: net.Socket,
    readonly number: number,
    readonly onRequest: (exchange: FakeExchange) => unknown,
  ) {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.closed = promise;
    socket.setNoDelay(true);
    socket.on("error", () => {});
    socket.on("close", () => resolve());
    socket.on("data", (bytes: Uint8Array) => {
      this.#received = Buffer.concat([this.#received, bytes]);
      this.#parse();
    });
  }

  #parse(): void {
    const headEnd = this.#received.indexOf("\r\n\r\n");
    if (!this.idle || headEnd < 0) return;
    const [start = "", ...lines] = this.#received.toString("latin1", 0, headEnd).split("\r\n");
    const headers = Object.fromEntries(lines.map((line) => {
      const colon = line.indexOf(":");
      return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()];
    }));
    const body = readBody(this.#received.subarray(headEnd + 4), headers);
    if (body === undefined) return;
    this.#received = this.#received.subarray(headEnd + 4 + body.used);
    const [method = "", path = ""] = start.split(" ");
    this.idle = false;
    this.onRequest(this.#exchange({ method, path, headers, body: body.text }));
  }

  #exchange(request: RecordedRequest): FakeExchange {
    let framing: Framing = "chunked";
    const raw = (bytes: string | Uint8Array) =>
      new Promise<void>((resolve) => {
        if (this.socket.destroyed) return resolve();
        this.socket.write(Buffer.from(bytes as string), () => resolve());
      });
    const exchange: FakeExchange = {
      request,
      connection: this.number,
      raw,
      head(status, headers = {}, given = "chunked") {
        framing = given;
        return raw(headText(status, headers, framing));
      },
      write(piece) {
        const bytes = Buffer.from(piece as string);
        if (framing !== "chunked") return raw(bytes);
        const size = `${bytes.length.toString(16)}\r\n`;
        return raw(Buffer.concat([Buffer.from(size), bytes, Buffer.from("\r\n")]));
      },
      end: async () => {
        if (framing === "chunked") await raw("0\r\n\r\n");
        if (framing === "close") this.socket.end();
        this.idle = true;
        this.#parse();
      },
      async answer(status, body = "", headers = {}) {
        const asIs = typeof body === "string" || body instanceof Uint8Array;
        const bytes = Buffer.from((asIs ? body : JSON.stringify(body)) as string);
        const type = asIs ? {} : { "content-type": "application/json" };
        await exchange.head(status, { ...type, ...headers }, { length: bytes.length });
        await exchange.write(bytes);
        await exchange.end();
      },
      async stream(pieces, headers = {}) {
        await exchange.head(200, { "content-type": "text/event-stream", ...headers });
        for (const piece of pieces) await exchange.write(piece);
        await exchange.end();
      },
      cut: () => void this.socket.end(() => this.socket.destroy()),
      reset: () => void this.socket.resetAndDestroy(),
      closed: this.closed,
    };
    return exchange;
  }
}

function headText(status: number, headers: Record<string, string>, framing: Framing): string {
  const lines = [`HTTP/1.1 ${status} Scripted`];
  for (const [name, value] of Object.entries(headers)) lines.push(`${name}: ${value}`);
  if (framing === "chunked") lines.push("transfer-encoding: chunked");
  else if (framing === "close") lines.push("connection: close");
  else lines.push(`content-length: ${framing.length}`);
  return lines.join("\r\n") + "\r\n\r\n";
}

/** Returns the body and how many bytes it took; undefined while it is incomplete. */
function readBody(
  bytes: Buffer,
  headers: Record<string, string>,
): { text: string; used: number } | undefined {
  if (headers["transfer-encoding"]?.toLowerCase() !== "chunked") {
    const used = Number(headers["content-length"] ?? 0);
    return bytes.length < used ? undefined : { text: bytes.toString("utf8", 0, used), used };
  }
  const pieces: Buffer[] = [];
  for (let at = 0;;) {
    const lineEnd = bytes.indexOf("\r\n", at);
    if (lineEnd < 0) return undefined;
    const size = parseInt(bytes.toString("latin1", at, lineEnd), 16);
    const next = lineEnd + 2 + size + 2;
    if (bytes.length < next) return undefined;
    if (size === 0) return { text: Buffer.concat(pieces).toString("utf8"), used: next };
    pieces.push(bytes.subarray(lineEnd + 2, lineEnd + 2 + size));
    at = next;
  }
}
