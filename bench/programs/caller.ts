import process from "node:process";

/**
 * Callers over raw sockets that make the next call as soon as the last is answered, at little cost
 * compared with what they measure. Reads its order (`CallerOrder`) from standard input, prints what
 * it saw (`CallerSight`). Calls under way at the end are waited for, so that the number of answered
 * calls is exact and can be compared with the gateway's records.
 */
export interface CallerOrder {
  port: number;
  path: string;
  headers: Readonly<Record<string, string>>;
  /** Each connection uses these in turn, starting with a different one. */
  keys?: readonly string[];
  body: string;
  connections: number;
  ms: number;
  /** Calls per second of all connections together; absent: as many as are answered. */
  perSecond?: number;
}

export interface CallerSight {
  /** Calls with a complete answer of status 200. */
  answered: number;
  /** Other answers by status; "lost" for broken connections. */
  failed: Record<string, number>;
  /** Seconds from the first call to the last answer. */
  seconds: number;
  /** Milliseconds from the request's first byte to the answer's last. */
  p50: number;
  p90: number;
  p99: number;
  max: number;
  /** CPU microseconds of this program per call. */
  cpuMicros: number;
}

const encoder = new TextEncoder();
const decoder = new TextDecoder("latin1");
/** Timeout of a whole answer. */
const patienceMs = 60_000;

/** A connection, which is replaced when the server closes it. */
class Line {
  readonly #port: number;
  readonly #buffer = new Uint8Array(256 * 1024);
  #connection: Deno.TcpConn | undefined;

  constructor(port: number) {
    this.#port = port;
  }

  /** Makes a call. Returns the answer's status once its last byte has arrived. */
  async call(request: Uint8Array): Promise<string> {
    this.#connection ??= await this.#connect();
    const connection = this.#connection;
    for (let at = 0; at < request.length;) at += await connection.write(request.subarray(at));
    let head = "";
    let received = 0;
    let wanted = Infinity;
    let tail = "";
    for (;;) {
      const read = await connection.read(this.#buffer);
      if (read === null) throw new Error("closed");
      received += read;
      if (wanted === Infinity) {
        if (!head.includes("\r\n\r\n")) {
          head += decoder.decode(this.#buffer.subarray(0, read));
          const end = head.indexOf("\r\n\r\n");
          const length = end < 0 ? null : /\r\ncontent-length: *(\d+)/i.exec(head.slice(0, end));
          if (length !== null) wanted = end + 4 + Number(length[1]);
        }
        // The last bytes show whether a chunked answer is complete.
        tail = (tail + decoder.decode(this.#buffer.subarray(Math.max(0, read - 7), read))).slice(
          -7,
        );
      }
      if (received >= wanted || (wanted === Infinity && tail === "\r\n0\r\n\r\n")) break;
    }
    if (/\r\nconnection: *close/i.test(head)) this.close();
    return head.slice(9, 12);
  }

  close(): void {
    this.#connection?.close();
    this.#connection = undefined;
  }

  async #connect(): Promise<Deno.TcpConn> {
    const connection = await Deno.connect({ hostname: "127.0.0.1", port: this.#port });
    connection.setNoDelay(true);
    return connection;
  }
}

function requestsOf({ path, headers, keys, body }: CallerOrder): Uint8Array[] {
  const bytes = encoder.encode(body);
  return (keys ?? [undefined]).map((key) => {
    const fields = Object.entries({
      host: "127.0.0.1",
      "content-type": "application/json",
      "content-length": String(bytes.length),
      ...headers,
      ...(key === undefined ? {} : { authorization: `Bearer ${key}` }),
    });
    const head = encoder.encode(
      `POST ${path} HTTP/1.1\r\n${
        fields.map(([name, value]) => `${name}: ${value}\r\n`).join("")
      }\r\n`,
    );
    const whole = new Uint8Array(head.length + bytes.length);
    whole.set(head);
    whole.set(bytes, head.length);
    return whole;
  });
}

/** Returns the processor time of all threads so far, in microseconds. */
function cpuMicros(): number {
  const { user, system } = process.cpuUsage();
  return user + system;
}

async function run(order: CallerOrder): Promise<CallerSight> {
  const requests = requestsOf(order);
  const times: number[] = [];
  const failed: Record<string, number> = {};
  const began = performance.now();
  const cpuBefore = cpuMicros();
  let sent = 0;
  const caller = async (index: number) => {
    const line = new Line(order.port);
    for (let turn = index; performance.now() - began < order.ms; turn += order.connections) {
      if (order.perSecond !== undefined) {
        const dueMs = 1000 * sent++ / order.perSecond - (performance.now() - began);
        if (dueMs > 0) await new Promise((resolve) => setTimeout(resolve, dueMs));
      }
      const at = performance.now();
      const request = requests[turn % requests.length]!;
      const status = await line.call(request).catch(() => "lost");
      if (status === "200") {
        times.push(performance.now() - at);
        continue;
      }
      failed[status] = (failed[status] ?? 0) + 1;
      line.close();
      // A pause after a failure, so that a server that refuses everything isn't flooded.
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    line.close();
  };
  const tooLate = setTimeout(() => {
    console.error(`callers waited ${patienceMs} ms after the end for answers`);
    Deno.exit(1);
  }, order.ms + patienceMs);
  await Promise.all(Array.from({ length: order.connections }, (_, index) => caller(index)));
  clearTimeout(tooLate);
  times.sort((a, b) => a - b);
  const at = (part: number) =>
    times[Math.min(times.length - 1, Math.floor(times.length * part))] ?? 0;
  return {
    answered: times.length,
    failed,
    seconds: (performance.now() - began) / 1000,
    p50: at(0.5),
    p90: at(0.9),
    p99: at(0.99),
    max: times.at(-1) ?? 0,
    cpuMicros: (cpuMicros() - cpuBefore) / Math.max(1, times.length),
  };
}

const order: CallerOrder = JSON.parse(await new Response(Deno.stdin.readable).text());
console.log(JSON.stringify(await run(order)));
