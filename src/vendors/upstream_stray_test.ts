import assert from "@std/assert";
import net from "node:net";
import { systemClock } from "../base/clock.ts";
import { Fault } from "../shared/fault.ts";
import { createUpstream, type Upstream } from "./upstream.ts";

/** Answers one request on a connection, in whatever wrong way; `mark` is what was asked for. */
type Manner = (
  socket: net.Socket,
  mark: string,
  round: number,
  after: (ms: number, act: () => void) => void,
) => void;

const whole = (text: string) =>
  `HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-length: ${text.length}\r\n\r\n${text}`;
const chunked = (text: string) =>
  "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n" +
  [...text].map((letter) => `1\r\n${letter}\r\n`).join("") + "0\r\n\r\n";
const proper = (mark: string, round: number) => round % 2 ? whole(mark) : chunked(mark);
/** What no call has asked for: it must reach none. */
const stray = "stray";

const manners: Record<string, Manner> = {
  "another answer with its own": (socket, mark, round) =>
    socket.write(proper(mark, round) + whole(stray)),
  "another answer right behind, by itself": (socket, mark, round) => {
    socket.write(proper(mark, round), () => socket.write(whole(stray)));
  },
  "half an answer now and half with the next": (socket, mark, round) =>
    socket.write(proper(mark, round) + "HTTP/1.1 200 OK\r\nx-a: "),
  "chunks behind the last one": (socket, mark) =>
    socket.write(`${chunked(mark)}5\r\n${stray}\r\n0\r\n\r\n`),
  "more than its length": (socket, mark) => socket.write(whole(mark) + stray),
  "line ends": (socket, mark, round) => socket.write(proper(mark, round) + "\r\n\r\n"),
  "a body with 204": (socket) =>
    socket.write(`HTTP/1.1 204 No\r\ncontent-length: 5\r\n\r\n${stray}${whole(stray)}`),
  "some 1xx first": (socket, mark, round) =>
    socket.write("HTTP/1.1 103 Early Hints\r\nlink: a\r\n\r\n".repeat(3) + proper(mark, round)),
  "100 unasked": (socket, mark, round) =>
    socket.write("HTTP/1.1 100 Continue\r\n\r\n" + proper(mark, round)),
  "1xx without end": (socket) => socket.write("HTTP/1.1 102 Processing\r\n\r\n".repeat(5000)),
  "a protocol that nobody wanted": (socket) =>
    socket.write(`HTTP/1.1 101 Up\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n${whole(stray)}`),
  "malformed heads": (socket, _mark, round) =>
    socket.write(
      ["HTTP/9.9 abc\r\n\r\n", `HTTP/1.1 200 OK\r\ncontent-length: 5\r\ncontent-length: 6\r\n\r\n`]
        .concat(["\0\0\0\r\n\r\n", `HTTP/1.1 200 OK\r\ncontent-length: -1\r\n\r\n${stray}`])
        .concat([
          `HTTP/1.1 200 OK\r\ntransfer-encoding: x, chunked, y\r\n\r\n`,
          "\r\nGET / HTTP/1.1",
        ])
        .concat([`HTTP/1.1 200 OK\r\n${"a: b\r\n".repeat(20_000)}\r\n`])[round % 7] ?? "",
      () => socket.end(),
    ),
};

/** What HTTP allows, or what can be detected in an answer that is valid in itself. */
const isProper = new Set(Object.keys(manners).slice(0, 6).concat("some 1xx first", "100 unasked"));

/** What comes when the next request is out can't be told from its answer, unless one is warned. */
const late: Manner = (socket, mark, round, after) => {
  socket.write(proper(mark, round));
  after(round % 40, () => socket.write(whole(stray)));
};

/** A vendor that reads requests as it should and answers in one manner, on kept connections. */
async function withStranger(
  manner: Manner,
  greeting: string,
  run: (url: string, upstream: Upstream, open: ReadonlySet<net.Socket>) => Promise<void>,
): Promise<void> {
  const open = new Set<net.Socket>();
  let round = 0;
  const timers = new Set<ReturnType<typeof setTimeout>>();
  const after = (ms: number, act: () => void) => void timers.add(setTimeout(act, ms));
  const server = net.createServer((socket) => {
    open.add(socket);
    socket.on("error", () => {}).on("close", () => open.delete(socket));
    if (greeting) socket.write(greeting);
    let text = "";
    socket.on("data", (bytes: Uint8Array) => {
      text += new TextDecoder().decode(bytes);
      for (let found; (found = /\r\n\r\n<(.*?)>/.exec(text)); text = text.slice(found[0].length)) {
        text = text.slice(found.index);
        manner(socket, found[1] ?? "", round++, after);
      }
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const upstream = createUpstream({
    clock: systemClock,
    timeouts: { connectMs: 5000, firstByteMs: 5000, idleMs: 5000 },
    maxAnswerBytes: 1 << 20,
  });
  try {
    await run(`http://127.0.0.1:${(server.address() as net.AddressInfo).port}`, upstream, open);
  } finally {
    upstream.close();
    for (const timer of timers) clearTimeout(timer);
    for (const socket of open) socket.destroy();
    await new Promise((resolve) => server.close(resolve));
  }
}

/** The text of an answer, or the code of the fault. */
async function ask(upstream: Upstream, url: string, mark: string): Promise<string> {
  const { signal } = new AbortController();
  try {
    const body = `<${mark}>`;
    const answer = await upstream.call({ url, method: "POST", headers: {}, body, signal });
    return new TextDecoder().decode(await answer.body.readAll(1 << 20));
  } catch (thrown) {
    if (!(thrown instanceof Fault)) throw thrown;
    return thrown.code;
  }
}

/** Many calls at once and one after the other; how many got what they asked for. */
async function askMany(upstream: Upstream, url: string): Promise<Map<string, number>> {
  const outcomes = new Map<string, number>();
  await Promise.all(Array.from({ length: 8 }, async (_, lane) => {
    for (let count = 0; count < 40; count++) {
      const mark = `mark-${lane}-${count}-`.padEnd(10 + (count % 7) * 5, "x");
      const got = await ask(upstream, url, mark);
      const outcome = got === mark ? "own" : got;
      outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1);
      if (count % 10 === 0) await new Promise((resolve) => setTimeout(resolve, 10));
    }
  }));
  return outcomes;
}

/** The error may say what the vendor did, nothing else. */
const clean = new Set(["own", "upstream_invalid_response", "upstream_stream_truncated", ""]);

for (const [name, manner] of Object.entries(manners)) {
  Deno.test(`a vendor that sends ${name} reaches no other call`, () =>
    withStranger(manner, "", async (url, upstream) => {
      const outcomes = await askMany(upstream, url);
      for (const outcome of outcomes.keys()) assert.ok(clean.has(outcome), `${name}: ${outcome}`);
      if (isProper.has(name)) assert.equal(outcomes.get("own"), 320, "others don't suffer from it");
    }));
}

Deno.test("a vendor that was once seen to send bytes unasked reaches no other call later", () =>
  withStranger(late, "", async (url, upstream, open) => {
    assert.equal(await ask(upstream, url, "first"), "first");
    while (open.size > 0) await new Promise((resolve) => setTimeout(resolve, 1));
    const outcomes = await askMany(upstream, url);
    assert.deepEqual([...outcomes], [["own", 320]]);
  }));

Deno.test("an answer that came before the request is nobody's second answer", () =>
  withStranger(
    (socket, mark) => socket.write(whole(mark)),
    whole("early"),
    async (url, upstream) => {
      const outcomes = await askMany(upstream, url);
      // The first answer on a connection is that of its first request, whenever it was sent.
      for (const outcome of outcomes.keys()) {
        assert.ok(outcome === "early" || clean.has(outcome), outcome);
      }
    },
  ));
