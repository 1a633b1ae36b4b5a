import type { Random } from "./random.ts";

/** Text that would become part of an answer if the parser of another connection read it. */
export const injected = "INJECTED-BY-A-STRANGER";
const answerText =
  `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${injected.length}\r\n\r\n${injected}`;
const chunkText = `HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n${
  injected.length.toString(16)
}\r\n${injected}\r\n0\r\n\r\n`;
const requestText = `GET /livez?${injected} HTTP/1.1\r\nhost: ${injected}\r\n\r\n`;

/** Requests that are odd, refused, cut off or half sent; each piece is one write. */
const oddHeads: Readonly<Record<string, readonly string[]>> = {
  "a head of 17 KiB": [`GET /livez HTTP/1.1\r\nhost: x\r\nx-big: ${"a".repeat(17_000)}`],
  "a whole head of 17 KiB": [`GET / HTTP/1.1\r\nhost: x\r\nx: ${"a".repeat(17_000)}\r\n\r\n`],
  "a path of 17 KiB": [`GET /${"a".repeat(17_000)} HTTP/1.1\r\nhost: x\r\n\r\n`],
  "a thousand headers": [`GET /livez HTTP/1.1\r\nhost: x\r\n${"a:b\r\n".repeat(1500)}\r\n`],
  "no HTTP": ["GARBAGE\r\n\r\n"],
  "bytes of TLS": ["\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"],
  "a method nobody knows": ["BREW / HTTP/1.1\r\nhost: x\r\n\r\n"],
  "a space in a name": ["GET /livez HTTP/1.1\r\nhost : x\r\na b: c\r\n\r\n"],
  "a folded line": ["GET /livez HTTP/1.1\r\nhost: x\r\na: b\r\n c\r\n\r\n"],
  "a zero byte": ["GET /livez HTTP/1.1\r\nhost: x\r\na: \0\r\n\r\n"],
  "an upgrade": ["GET / HTTP/1.1\r\nhost: x\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n"],
  "an upgrade of a POST": [
    "POST / HTTP/1.1\r\nhost: x\r\nconnection: upgrade\r\nupgrade: h2c\r\ncontent-length: 4\r\n\r\n",
  ],
  "CONNECT": ["CONNECT example.com:443 HTTP/1.1\r\nhost: example.com:443\r\n\r\n"],
  "CONNECT with a body": [
    "CONNECT x:1 HTTP/1.1\r\nhost: x:1\r\ncontent-length: 9\r\n\r\nabc",
  ],
  "an aborted head": ["GET /livez HTTP/1.1\r\nhost: x\r\nx-cut"],
  "an aborted line": ["GET /liv"],
  "pipelining": [requestText.repeat(20)],
  "pipelined rubbish": [requestText + "RUBBISH\r\n\r\n" + requestText],
  "pipelined refusals": [
    `${requestText}GET / HTTP/1.1\r\n\r\n${requestText}GET / HTTP/1.1\r\nhost: a\r\nhost: b\r\n\r\n`,
  ],
  "a wrong chunk": [
    "POST /chat/v1/chat/completions HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n",
    "zz\r\nabc\r\n",
  ],
  "a chunk too long": [
    "POST /x HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\nfffffffffffffffffffff\r\n",
  ],
  "a long chunk extension": [
    "POST /x HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n1;",
    "e".repeat(100_000),
  ],
  "a length and chunks": [
    "POST /x HTTP/1.1\r\nhost: x\r\ncontent-length: 5\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n",
  ],
  "two lengths": [
    "POST /x HTTP/1.1\r\nhost: x\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\nab",
  ],
  "a negative length": ["POST /x HTTP/1.1\r\nhost: x\r\ncontent-length: -1\r\n\r\n"],
  "an encoding nobody knows": ["POST /x HTTP/1.1\r\nhost: x\r\ntransfer-encoding: br\r\n\r\n"],
  "OPTIONS *": ["OPTIONS * HTTP/1.1\r\nhost: x\r\n\r\n"],
  "HTTP/0.9": ["GET /livez\r\n"],
  "HTTP/1.0": ["GET /livez HTTP/1.0\r\n\r\n"],
  "HTTP/3.7": ["GET /livez HTTP/3.7\r\nhost: x\r\n\r\n"],
  "the preface of HTTP/2": ["PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "\0\0\0\x04\0\0\0\0\0"],
  "half a body": ["POST /chat/v1/messages HTTP/1.1\r\nhost: x\r\ncontent-length: 5000\r\n\r\nabc"],
  "half a chunk": [
    "POST /chat/v1/messages HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\nff\r\nabc",
  ],
  "a body for GET": ["GET /livez HTTP/1.1\r\nhost: x\r\ncontent-length: 100000\r\n\r\nabc"],
  "an expectation": [
    "POST /x HTTP/1.1\r\nhost: x\r\nexpect: 100-continue\r\ncontent-length: 9\r\n\r\n",
  ],
  "an odd expectation": ["GET /livez HTTP/1.1\r\nhost: x\r\nexpect: tea\r\n\r\n"],
  "no Host": ["GET /livez HTTP/1.1\r\n\r\n"],
  "two Hosts": ["GET /livez HTTP/1.1\r\nhost: a\r\nhost: b\r\n\r\n"],
  "another address": [`GET http://${injected}/livez HTTP/1.1\r\nhost: x\r\n\r\n`],
  "a backslash": ["GET /a\\..\\b HTTP/1.1\r\nhost: x\r\n\r\n"],
  "a good one, kept": ["GET /livez HTTP/1.1\r\nhost: x\r\n\r\n"],
  "nothing": [""],
};

/** Ways to send the text that must not reach any caller. */
const follow: readonly ((random: Random) => readonly string[])[] = [
  () => [answerText],
  () => [chunkText],
  () => [requestText],
  () => Array.from({ length: 8 }, () => answerText),
  () => Array.from({ length: 4 }, () => requestText + answerText),
  (random) => slices(answerText + requestText + chunkText, 1 + random.below(40)),
  () => [],
];

function slices(text: string, size: number): string[] {
  const pieces: string[] = [];
  for (let at = 0; at < text.length; at += size) pieces.push(text.slice(at, at + size));
  return pieces;
}

/** Opens odd connections, so many at a time, one after the other until `stop` is called. */
export function startOddHeads(
  port: number,
  connections: number,
  random: Random,
): { readonly sent: number; stop(): Promise<void> } {
  const kinds = Object.values(oddHeads);
  let stopped = false;
  let sent = 0;
  const run = async () => {
    while (!stopped) {
      // The first kind is known to have caused harm, so it is sent often.
      const kind = random.chance(30) ? kinds[0]! : random.pick(kinds);
      const pieces = [...kind, ...random.pick(follow)(random)];
      await send(port, pieces, random.below(4));
      sent++;
    }
  };
  const running = Promise.all(Array.from({ length: connections }, run));
  return {
    get sent() {
      return sent;
    },
    async stop() {
      stopped = true;
      await running;
    },
  };
}

/** Sends the pieces so many milliseconds apart and closes the connection, whatever the answer. */
async function send(port: number, pieces: readonly string[], apartMs: number): Promise<void> {
  const connection = await Deno.connect({ hostname: "127.0.0.1", port });
  const reading = connection.readable.pipeTo(new WritableStream(), { preventCancel: false })
    .catch(() => {});
  const writer = connection.writable.getWriter();
  for (const piece of pieces) {
    const bytes = Uint8Array.from(piece, (letter) => letter.charCodeAt(0));
    // The other side may have closed the connection.
    const isTaken = await writer.write(bytes).then(() => true, () => false);
    if (!isTaken) break;
    if (apartMs > 0) await new Promise((resolve) => setTimeout(resolve, apartMs));
  }
  try {
    connection.close();
  } catch {
    // It is closed already.
  }
  await reading;
}
