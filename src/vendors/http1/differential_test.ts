/**
 * Random answers, right and wrong, in random pieces, read by our client, by the runtime's and by
 * undici: what ours takes for an answer is the same to all, and what ours refuses beyond that is in
 * a list. `ANSWERS` is how many; a failure names its seed.
 */
import assert from "@std/assert";
import { request as open } from "node:http";
import net from "node:net";
import { Client } from "undici";
import { Random } from "../../../tests/support/random.ts";
import { within } from "../../../tests/support/within.ts";
import { systemClock } from "../../base/clock.ts";
import { systemSetTimer } from "../../base/deadline.ts";
import { attempt } from "../upstream_attempt.ts";
import { AttemptFailure } from "../upstream_failure.ts";
import { AnswerParser } from "./answer_parser.ts";
import { createConnector } from "./connect.ts";
import { ConnectionPool } from "../upstream_pool.ts";

const answers = Number(Deno.env.get("ANSWERS") ?? 600);
const firstSeed = Number(Deno.env.get("ANSWERS_SEED") ?? 1);

interface Sent {
  readonly bytes: Uint8Array;
  /** Where the bytes are cut into pieces. */
  readonly cuts: readonly number[];
  readonly isReset: boolean;
}

/** What a client made of an answer. */
type Read =
  | { status: number; headers: Record<string, string>; body: string; isWhole: boolean }
  | { refused: string };

Deno.test(`${answers} random answers are read as node:http and undici read them`, async () => {
  const sent = new Map<string, Sent>();
  await using vendor = await startVendor(sent);
  const connections = new ConnectionPool({
    ...{ clock: systemClock, connector: createConnector(), settleMs: 0 },
    ...{ maxPerHost: Infinity, keepMs: 0 },
  });
  const counts = { whole: 0, cut: 0, refused: 0, stricter: 0 };
  let seed = firstSeed;
  const lane = async () => {
    while (seed < firstSeed + answers) {
      const own = seed++;
      const path = `/${own}`;
      sent.set(path, randomAnswer(new Random(own)));
      const url = new URL(vendor.url + path);
      const read = () => Promise.all([readByNode(url), ...byUndici(sent.get(path)!.bytes, url)]);
      const ours = await within(10_000, readByUs(connections, url));
      const shown = `seed ${own}: ${JSON.stringify(latin1(sent.get(path)!.bytes))}\n` +
        `ours ${JSON.stringify(ours)}\ntheirs `;
      if (isWhole(ours)) {
        counts.whole++;
        // What comes behind an answer spoils it for others; ours has ended by then.
        const { bytes, cuts } = sent.get(path)!;
        sent.set(path, { bytes: bytes.subarray(0, endOf(bytes)), cuts, isReset: false });
        const theirReads = looser.test(latin1(bytes)) ? [] : await within(10_000, read());
        for (const theirs of theirReads) {
          assert.deepEqual(ours, theirs, shown + JSON.stringify(theirs));
        }
      } else {
        counts["refused" in ours ? "refused" : "cut"]++;
        const { bytes } = sent.get(path)!;
        const theirs = await within(10_000, read());
        if (theirs.every(isWhole)) {
          counts.stricter++;
          assert.ok(isStricter(latin1(bytes)), shown + JSON.stringify(theirs));
        }
      }
      sent.delete(path);
    }
  };
  await Promise.all(Array.from({ length: 8 }, lane));
  connections.close();
  // Else it would show nothing.
  for (const [what, count] of Object.entries(counts)) {
    assert.ok(count >= answers / 500, `only ${count} ${what} of ${answers}`);
  }
});

function isWhole(read: Read): boolean {
  return "isWhole" in read && read.isWhole;
}

/** Where our answer's last byte is. */
function endOf(bytes: Uint8Array): number {
  let isOver = false;
  const parser = new AnswerParser({ head() {}, data() {}, end: () => isOver = true });
  parser.begin(false);
  for (let at = 0; at < bytes.length; at++) {
    parser.push(bytes.subarray(at, at + 1));
    if (isOver) return at + 1;
  }
  return bytes.length;
}

/** What we refuse, or take for cut, although others don't. */
function isStricter(text: string): boolean {
  const odd = [
    // A coding that we didn't ask for, or none that ends.
    /^transfer-encoding:(?![ \t]*chunked[ \t]*\r)/im,
    // A status line with signs of control in it, that ends in a carriage return alone, or behind
    // half the end of a line.
    /^(\r\n)*(HTTP\/1\.1 1\d\d [^]*?\r\n\r\n)*HTTP\/1\.\d \d{3}[^\r\n]*[^\t\n\r\x20-\x7e\x80-\xff]/,
    /^(\r\n)*(HTTP\/1\.1 1\d\d (?:(?!\r\n\r\n)[^])*\r\n\r\n(\r\n)*)*[\r\n](?!\n)/,
    /^(\r\n)*(HTTP\/1\.1 1\d\d [^]*?\r\n\r\n)*HTTP\/1\.\d \d{3}[^\r\n]*\r(?!\n)/,
    // Another version, or an upgrade that nobody asked for.
    /^(\r\n)*HTTP\/(?!1\.[01] )/,
    /^(\r\n)*(HTTP\/1\.1 1\d\d [^]*?\r\n\r\n)*HTTP\/1\.\d 101/,
  ];
  return odd.some((one) => one.test(text));
}

/**
 * We pass over a chunk's extensions, well formed or not, and over a tab behind a length or a coding
 * (RFC 9110, 5.5), where llhttp gives up or takes the coding for an unknown one.
 */
const looser =
  /\r\n0*[\da-f]+;(?!\w+(=(\w+|"[^"\r\n]*"))?\r)|(content-length:[ \t]*\d+|chunked) *\t/i;

async function startVendor(sent: ReadonlyMap<string, Sent>) {
  const open = new Set<net.Socket>();
  const server = net.createServer((socket) => {
    open.add(socket.setNoDelay(true));
    socket.on("error", () => {}).on("close", () => open.delete(socket));
    let text = "";
    socket.on("data", async (bytes: Uint8Array) => {
      text += latin1(bytes);
      if (!text.includes("\r\n\r\n")) return;
      const answer = sent.get(text.split(" ", 2)[1] ?? "");
      text = "";
      if (answer === undefined) return void socket.destroy();
      let from = 0;
      for (const to of [...answer.cuts, answer.bytes.length]) {
        if (socket.destroyed) return;
        const piece = answer.bytes.subarray(from, to);
        await new Promise<void>((resolve) => socket.write(piece, () => resolve()));
        from = to;
      }
      if (answer.isReset) socket.resetAndDestroy();
      else socket.end();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as net.AddressInfo).port}`,
    async [Symbol.asyncDispose]() {
      for (const socket of open) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

async function readByUs(connections: ConnectionPool, url: URL): Promise<Read> {
  const deps = { clock: systemClock, setTimer: systemSetTimer, connectMs: 9e3, firstByteMs: 9e3 };
  const { signal } = new AbortController();
  const request = { url, method: "GET", headers: {}, body: undefined, signal };
  try {
    const exchange = await attempt({ ...deps, connections }, request);
    const { status, headers } = exchange;
    let body = "";
    const ended = Promise.withResolvers<boolean>();
    exchange.listen({
      data: (piece) => body += latin1(piece),
      end: () => ended.resolve(true),
      error: () => ended.resolve(false),
    });
    exchange.resume();
    return { status, headers, isWhole: await ended.promise, body };
  } catch (thrown) {
    if (!(thrown instanceof AttemptFailure)) throw thrown;
    return { refused: thrown.code };
  }
}

function readByNode(url: URL): Promise<Read> {
  return new Promise((resolve) => {
    const asking = open(url, { agent: false, headers: { connection: "close" } }, (answer) => {
      let body = "";
      const end = (isWhole: boolean) => {
        const { statusCode: status = 0, rawHeaders } = answer;
        resolve({ status, headers: joinedHeaders(rawHeaders), isWhole, body });
      };
      answer.on("data", (piece: Uint8Array) => body += latin1(piece));
      answer.on("error", () => end(false));
      answer.on("end", () => end(answer.complete));
      answer.on("close", () => end(false));
    });
    asking.on("upgrade", (_answer, socket) => {
      socket.destroy();
      resolve({ refused: "upgrade" });
    });
    asking.on(
      "error",
      (error: Error & { code?: string }) => resolve({ refused: error.code ?? "" }),
    );
    asking.end();
  });
}

/** It takes `100 Continue` for a broken answer, and blanks behind a length for digits. */
function byUndici(bytes: Uint8Array, url: URL): Promise<Read>[] {
  const isMisread = /HTTP\/1\.\d 100|content-length:[^\r]*[ \t]\r/i.test(latin1(bytes));
  return isMisread ? [] : [readByUndici(url)];
}

async function readByUndici(url: URL): Promise<Read> {
  // Its clock of time-outs would tick on behind the test.
  const noTimers = { headersTimeout: 0, bodyTimeout: 0, connect: { timeout: 0 } };
  const client = new Client(url.origin, { pipelining: 1, ...noTimers });
  try {
    const { statusCode: status, headers, body } = await client.request({
      ...{ method: "GET", path: url.pathname, responseHeaders: "raw" as const },
    });
    const read = { status, headers: joinedHeaders(headers as unknown as string[]), body: "" };
    try {
      for await (const piece of body) read.body += latin1(piece);
      return { ...read, isWhole: true };
    } catch {
      return { ...read, isWhole: false };
    }
  } catch (thrown) {
    return { refused: String((thrown as { code?: unknown }).code) };
  } finally {
    client.destroy().catch(() => {});
  }
}

const single = ["content-type", "content-encoding", "location", "retry-after", "etag", "server"];

function joinedHeaders(raw: readonly string[]): Record<string, string> {
  const headers: Record<string, string> = {};
  for (let at = 0; at < raw.length; at += 2) {
    const name = raw[at]!.toLowerCase();
    // undici leaves the blanks behind them.
    const value = raw[at + 1]!.replace(/[ \t]+$/, "");
    if (!Object.hasOwn(headers, name)) headers[name] = value;
    else if (!single.includes(name)) headers[name] += `, ${value}`;
  }
  return headers;
}

/** Half of the answers are right, the others wrong somewhere. */
function randomAnswer(random: Random): Sent {
  let text = "";
  if (random.chance(5)) text += "\r\n".repeat(1 + random.below(3));
  while (random.chance(15)) {
    text += `HTTP/1.1 ${random.pick(["100 Continue", "102 Processing", "103 Early Hints"])}\r\n` +
      random.pick(["", "link: </a>\r\n", "x-a: b\r\nx-a: c\r\n"]) + "\r\n";
  }
  text += wholeAnswer(random);
  if (random.chance(10)) text += random.pick(["\r\n", "HTTP/1.1 200 OK\r\n", "x", "0\r\n\r\n"]);
  if (random.chance(50)) text = spoilt(random, text);
  const bytes = Uint8Array.from(text, (letter) => letter.charCodeAt(0));
  const cuts = Array.from(
    { length: random.pick([0, 0, 1, 2, 5, 20]) },
    () => random.below(bytes.length + 1),
  )
    .toSorted((a, b) => a - b);
  return { bytes, cuts, isReset: random.chance(5) };
}

function wholeAnswer(random: Random): string {
  const version = random.weighted([[9, "1.1"], [1, "1.0"]] as const);
  const status = random.weighted(
    [
      ...[[60, "200 OK"], [10, "200"], [5, "204 No Content"], [5, "304 Not Modified"]] as const,
      ...[[10, "429 Too Many Requests"], [5, "500 "], [3, "101 Switching"], [
        2,
        "999 Odd",
      ]] as const,
    ],
  );
  const lines = [`HTTP/${version} ${status}`];
  for (let left = random.below(6); left > 0; left--) lines.push(field(random));
  const body = random.pick([
    "",
    "a",
    "ok",
    "{}",
    "x".repeat(300),
    "\r\n\r\n",
    "HTTP/1.1 200 OK\r\n",
  ]);
  const framing = random.weighted(
    [[40, "length"], [40, "chunked"], [12, "close"], [4, "both"], [4, "odd"]] as const,
  );
  const length = `${random.pick(["content-length", "Content-Length"])}: ${body.length}`;
  if (framing === "length" || framing === "both") lines.push(length);
  if (framing === "both" && random.chance(50)) lines.push(length);
  else if (framing === "chunked" || framing === "both") lines.push("Transfer-Encoding: chunked");
  if (framing === "odd") {
    lines.push(random.pick([
      ...["transfer-encoding: gzip, chunked", "transfer-encoding: identity", "content-length: +2"],
      ...["content-length: 2, 2", "content-length: 0x2", "content-length:", "content-length: -1"],
      ...["transfer-encoding: chunked, gzip", "transfer-encoding: CHUNKED", "content-length: 2 2"],
      "content-length: 99999999999999999999",
    ]));
  }
  const isChunked = framing === "chunked" || (framing === "both" && random.chance(50));
  return `${lines.join("\r\n")}\r\n\r\n${isChunked ? chunks(random, body) : body}`;
}

function field(random: Random): string {
  const name = random.pick(
    ["x-a", "X-B", "Content-Type", "content-type", "set-cookie", "connection", "keep-alive"]
      .concat(["constructor", "x_y", "retry-after", "etag"]),
  );
  const value = random.pick(
    ["a", "", "close", "keep-alive", "timeout=5", "b\tc", "é", "a, b", "x".repeat(200), '"q"'],
  );
  return `${name}:${random.pick([" ", "", "  ", "\t"])}${value}${random.pick(["", "", " ", "\t"])}`;
}

function chunks(random: Random, body: string): string {
  let text = "";
  for (let at = 0; at < body.length;) {
    const piece = body.slice(at, at += 1 + random.below(40));
    const size = piece.length.toString(16);
    text += `${random.pick([size, size, size.toUpperCase(), `00${size}`])}${
      random.pick(["", "", "", ";a=b", ";a", ';a="b c"'])
    }\r\n${piece}\r\n`;
  }
  return `${text}${random.pick(["0", "00"])}\r\n${
    random.pick(["", "", "x-t: a\r\n", "x-t: a\r\ny: b\r\n"])
  }\r\n`;
}

function spoilt(random: Random, text: string): string {
  for (let left = 1 + random.below(2); left > 0; left--) {
    const at = random.below(text.length + 1);
    const odd = random.pick(
      ["\n", "\r", "\0", " ", ":", "\x7f", "\xff", "\t", ";", "0", "g", "\r\n", "\r\n ", "5"],
    );
    text = random.weighted<() => string>([
      [4, () => text.slice(0, at) + odd + text.slice(at + 1)],
      [4, () => text.slice(0, at) + odd + text.slice(at)],
      [3, () => text.slice(0, at) + text.slice(at + 1)],
      [1, () => text.slice(0, at)],
    ])();
  }
  return text;
}

function latin1(bytes: Uint8Array): string {
  let text = "";
  for (const byte of bytes) text += String.fromCharCode(byte);
  return text;
}
