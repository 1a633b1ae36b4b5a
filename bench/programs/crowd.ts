import process from "node:process";
import { Buffer } from "node:buffer";
import { connect, type Socket } from "node:net";

/**
 * Makes calls at a steady rate, whether they are answered or not, over plain sockets and in a
 * process of its own, at little cost compared with what it measures. Reads its order (`CrowdOrder`)
 * from the first argument, prints what it saw (`CrowdSight`).
 */
export interface CrowdOrder {
  port: number;
  path: string;
  headers: Readonly<Record<string, string>>;
  body: string;
  /** 0: each of `most` connections makes its next call as soon as the last is answered. */
  perSecond: number;
  ms: number;
  /** Limit on connections; calls that are due when all are busy count as `unsent`. */
  most: number;
  /** Whether connections are kept for further calls. */
  keep: boolean;
}

export interface CrowdSight {
  sent: number;
  /** Calls that were due when all connections were busy. */
  unsent: number;
  /** Calls answered by status; "lost" for broken connections, "waited" for none in 10 s. */
  answers: Record<string, number>;
  /** Number of failures by error code. */
  codes: Record<string, number>;
  withoutRetry: number;
  /** Milliseconds of answered and of refused calls. */
  answered: Percentiles;
  refused: Percentiles;
  /** The part of a processor that this program used. */
  busy: number;
}

interface Percentiles {
  p50: number;
  p99: number;
}

const patienceMs = 10_000;

class Crowd {
  readonly #order: CrowdOrder;
  readonly #bytes: Uint8Array;
  readonly #free: Line[] = [];
  readonly #lines = new Set<Line>();
  readonly #times: Record<string, number[]> = { 200: [], 503: [] };
  sent = 0;
  unsent = 0;
  isOver = false;
  readonly answers: Record<string, number> = {};
  readonly codes: Record<string, number> = {};
  withoutRetry = 0;

  constructor(order: CrowdOrder) {
    this.#order = order;
    const { headers, body, path, keep } = order;
    const fields = Object.entries({
      host: "bench",
      "content-type": "application/json",
      "content-length": String(Buffer.byteLength(body)),
      connection: keep ? "keep-alive" : "close",
      ...headers,
    });
    this.#bytes = Buffer.from(
      `POST ${path} HTTP/1.1\r\n${
        fields.map(([name, value]) => `${name}: ${value}\r\n`).join("")
      }` +
        `\r\n${body}`,
    );
  }

  async run(): Promise<CrowdSight> {
    const { perSecond, ms, most } = this.#order;
    const began = performance.now();
    const cpu = process.cpuUsage();
    if (perSecond === 0) { for (let line = 0; line < most; line++) this.#send(); }
    let due = 0;
    for (let past = 0; past < ms; past = performance.now() - began) {
      for (const wanted = perSecond * past / 1000; due < wanted; due++) this.#send();
      this.#leave();
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    this.isOver = true;
    const { user, system } = process.cpuUsage(cpu);
    for (const line of this.#lines) line.socket.destroy();
    return {
      sent: this.sent,
      unsent: this.unsent,
      answers: this.answers,
      codes: this.codes,
      withoutRetry: this.withoutRetry,
      answered: percentiles(this.#times["200"]!),
      refused: percentiles(this.#times["503"]!),
      busy: (user + system) / 1000 / ms,
    };
  }

  #send(): void {
    let line = this.#free.pop();
    while (line?.socket.destroyed) line = this.#free.pop();
    if (line === undefined) {
      if (this.#lines.size >= this.#order.most) return void this.unsent++;
      // No local address: to bind one, the kernel searches for a port that no closed connection
      // still holds. With thousands of those the search took most of this program's time.
      line = new Line(this, connect({ port: this.#order.port, host: "127.0.0.1" }));
      this.#lines.add(line);
    }
    this.sent++;
    line.send(this.#bytes);
  }

  /** Gives up calls that were not answered in time. */
  #leave(): void {
    const now = performance.now();
    for (const line of this.#lines) {
      if (line.isWaiting && now - line.began > patienceMs) this.lost(line, "waited");
    }
  }

  ended(line: Line, head: string, text: string): void {
    if (this.isOver) return;
    const status = head.slice(9, 12);
    this.answers[status] = (this.answers[status] ?? 0) + 1;
    this.#times[status]?.push(performance.now() - line.began);
    if (status !== "200") {
      const code = `${status} ${/"code":"?(\w+)/.exec(text)?.[1]}`;
      this.codes[code] = (this.codes[code] ?? 0) + 1;
      if (!/\r\nretry-after:/i.test(head)) this.withoutRetry++;
    }
    if (!this.#order.keep || /\r\nconnection: close/i.test(head)) {
      this.#lines.delete(line);
      line.socket.destroy();
    } else this.#free.push(line);
    if (this.#order.perSecond === 0) this.#send();
  }

  lost(line: Line, why: string, code = why): void {
    if (!this.#lines.delete(line)) return;
    line.socket.destroy();
    if (!line.isWaiting || this.isOver) return;
    this.codes[code] = (this.codes[code] ?? 0) + 1;
    this.answers[why] = (this.answers[why] ?? 0) + 1;
    if (this.#order.perSecond === 0) this.#send();
  }
}

/** One connection. */
class Line {
  isWaiting = false;
  began = 0;
  #text = "";

  constructor(readonly crowd: Crowd, readonly socket: Socket) {
    socket.setNoDelay(true);
    socket.setEncoding("latin1");
    socket.on("data", (piece: string) => this.#take(piece));
    socket.on("error", ({ code }: Error & { code?: string }) => crowd.lost(this, "lost", code));
    socket.on("close", () => crowd.lost(this, "lost", "closed"));
  }

  send(bytes: Uint8Array): void {
    this.isWaiting = true;
    this.began = performance.now();
    this.#text = "";
    this.socket.write(bytes);
  }

  #take(piece: string): void {
    this.#text += piece;
    const headLength = this.#text.indexOf("\r\n\r\n");
    if (headLength < 0 || !this.isWaiting) return;
    const head = this.#text.slice(0, headLength);
    const length = /\r\ncontent-length: (\d+)/i.exec(head)?.[1];
    const isWhole = length === undefined
      ? this.#text.endsWith("0\r\n\r\n")
      : this.#text.length >= headLength + 4 + Number(length);
    if (!isWhole) return;
    this.isWaiting = false;
    this.crowd.ended(this, head, this.#text.slice(headLength));
  }
}

function percentiles(times: number[]): Percentiles {
  times.sort((a, b) => a - b);
  const at = (part: number) => Math.round(times[Math.floor(times.length * part)] ?? NaN);
  return { p50: at(0.5), p99: at(0.99) };
}

const crowd = new Crowd(JSON.parse(Deno.args[0]!));
console.log(JSON.stringify(await crowd.run()));
Deno.exit();
