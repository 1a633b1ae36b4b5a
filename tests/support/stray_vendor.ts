import net from "node:net";

/** How the end of an answer's body is told: by chunks, by its length, by closing the connection. */
export const framings = ["chunked", "length", "close"] as const;
export type Framing = typeof framings[number];

/** What stands in no answer, and belongs to no call. */
export const stray = "STRAY-BYTES";

const type = "content-type: application/json\r\n";
const another = `HTTP/1.1 200 OK\r\n${type}content-length: ${stray.length}\r\n\r\n${stray}`;
const strayEvent = `data: {"id":"c","object":"chat.completion.chunk","created":1,"model":"m",` +
  `"choices":[{"index":0,"delta":{"content":"${stray}"}}]}\n\n`;
const anotherStream =
  "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n" +
  `${strayEvent.length.toString(16)}\r\n${strayEvent}\r\n0\r\n\r\n`;

/** What is sent behind an answer's end: with its last bytes, or by itself right after them. */
export const manners: Readonly<Record<string, { bytes: string; apart?: boolean }>> = {
  "another answer": { bytes: another },
  "another answer, apart": { bytes: another, apart: true },
  "many answers": { bytes: another.repeat(40) },
  "another stream": { bytes: anotherStream },
  "another stream, apart": { bytes: anotherStream, apart: true },
  "half an answer": { bytes: "HTTP/1.1 200 OK\r\nx-a: " },
  "half a body": { bytes: another.slice(0, -4), apart: true },
  "a chunk": { bytes: `${stray.length.toString(16)}\r\n${stray}\r\n0\r\n\r\n` },
  "an event": { bytes: strayEvent },
  "an event, apart": { bytes: strayEvent, apart: true },
  "bare text": { bytes: stray },
  "line ends": { bytes: "\r\n\r\n" },
  "an odd head": { bytes: `HTTP/1.1 200 OK\r\ncontent-length: -1\r\n\r\n${stray}` },
  "zero bytes": { bytes: "\0".repeat(5_000) },
};

/** A vendor of the chat dialect that says again what it was told, and then more than it should. */
export interface StrayVendor extends AsyncDisposable {
  readonly url: string;
  /** Answers after which more was sent. */
  readonly answers: number;
}

export async function startStrayVendor(framing: Framing, manner: string): Promise<StrayVendor> {
  const open = new Set<net.Socket>();
  let answers = 0;
  const server = net.createServer((socket) => {
    open.add(socket);
    socket.on("error", () => {}).on("close", () => open.delete(socket));
    socket.setEncoding("latin1");
    let text = "";
    socket.on("data", (piece: string) => {
      text += piece;
      for (let request; (request = firstRequest(text)); text = text.slice(request.length)) {
        answers++;
        answer(socket, request.body, framing, manners[manner]!);
      }
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as net.AddressInfo).port}`,
    get answers() {
      return answers;
    },
    async [Symbol.asyncDispose]() {
      for (const socket of open) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

function firstRequest(text: string): { body: string; length: number } | undefined {
  const headEnd = text.indexOf("\r\n\r\n") + 4;
  if (headEnd < 4) return undefined;
  const length = Number(/\r\ncontent-length: *(\d+)/i.exec(text.slice(0, headEnd))?.[1] ?? 0);
  if (text.length < headEnd + length) return undefined;
  return { body: text.slice(headEnd, headEnd + length), length: headEnd + length };
}

function answer(
  socket: net.Socket,
  request: string,
  framing: Framing,
  { bytes, apart = false }: { bytes: string; apart?: boolean },
): void {
  const isStream = /"stream": ?true/.test(request);
  const mark = /mark-\d+-[\da-f-]{36}/.exec(request)?.[0] ?? "no mark";
  const pieces = isStream ? eventsOf(mark) : [wholeOf(mark)];
  const body = pieces.join("");
  const headers = {
    chunked: "transfer-encoding: chunked",
    length: `content-length: ${body.length}`,
    close: "connection: close",
  };
  const head = `HTTP/1.1 200 OK\r\ncontent-type: ${
    isStream ? "text/event-stream" : "application/json"
  }\r\n${headers[framing]}\r\n\r\n`;
  const framed = framing === "chunked"
    ? pieces.map((piece) => `${piece.length.toString(16)}\r\n${piece}\r\n`).join("") + "0\r\n\r\n"
    : body;
  // Where the connection's end is the answer's, nothing can come behind it but what the caller's
  // connection is not there for any more.
  const last = () => void (framing === "close" && socket.end());
  if (!apart) return void socket.write(head + framed + bytes, last);
  socket.write(head + framed, () => {
    socket.write(bytes, last);
  });
}

function wholeOf(mark: string): string {
  return JSON.stringify({
    id: "c",
    object: "chat.completion",
    created: 1,
    model: "m",
    choices: [{
      index: 0,
      message: { role: "assistant", content: `You said ${mark}` },
      finish_reason: "stop",
    }],
    usage,
  });
}

function eventsOf(mark: string): string[] {
  const event = (fields: object) =>
    `data: ${
      JSON.stringify({
        id: "c",
        object: "chat.completion.chunk",
        created: 1,
        model: "m",
        ...fields,
      })
    }\n\n`;
  return [
    event({ choices: [{ index: 0, delta: { role: "assistant", content: "You said " } }] }),
    event({ choices: [{ index: 0, delta: { content: mark } }] }),
    event({ choices: [{ index: 0, delta: {}, finish_reason: "stop" }] }),
    event({ choices: [], usage }),
    "data: [DONE]\n\n",
  ];
}

const usage = { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 };
