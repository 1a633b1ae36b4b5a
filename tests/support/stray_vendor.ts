import net from "node:net";

/** How the end of a body is marked: by chunks, by its length, or by closing the connection. */
export const framings = ["chunked", "length", "close"] as const;
export type Framing = typeof framings[number];

/** Text that belongs to no call and must not be in any answer. */
export const stray = "STRAY-BYTES";

const another =
  `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${stray.length}\r\n\r\n${stray}`;
const anotherStream = (events: string) =>
  "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n" +
  `${events.length.toString(16)}\r\n${events}\r\n0\r\n\r\n`;

/** What is sent after an answer's end: in the same write, or (`apart`) in the next one. */
interface Manner {
  /** `events` are those of another call's answer in the same dialect. */
  bytes(events: string): string;
  readonly apart?: boolean;
}

export const manners: Readonly<Record<string, Manner>> = {
  "another answer": { bytes: () => another },
  "another answer, apart": { bytes: () => another, apart: true },
  "many answers": { bytes: () => another.repeat(40) },
  "another stream": { bytes: anotherStream },
  "another stream, apart": { bytes: anotherStream, apart: true },
  "half an answer": { bytes: () => "HTTP/1.1 200 OK\r\nx-a: " },
  "half a body": { bytes: () => another.slice(0, -4), apart: true },
  "a chunk": { bytes: () => `${stray.length.toString(16)}\r\n${stray}\r\n0\r\n\r\n` },
  "events": { bytes: (events) => events },
  "events, apart": { bytes: (events) => events, apart: true },
  "bare text": { bytes: () => stray },
  "line ends": { bytes: () => "\r\n\r\n" },
  "an odd head": { bytes: () => `HTTP/1.1 200 OK\r\ncontent-length: -1\r\n\r\n${stray}` },
  "zero bytes": { bytes: () => "\0".repeat(5_000) },
};

/** A vendor of all dialects that repeats a call's mark, and then sends more than it should. */
export interface StrayVendor extends AsyncDisposable {
  readonly url: string;
  /** Number of answers after which more was sent. */
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
        answer(socket, request, framing, manners[manner]!);
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

interface Asked {
  readonly path: string;
  readonly body: string;
}

function firstRequest(text: string): (Asked & { length: number }) | undefined {
  const headEnd = text.indexOf("\r\n\r\n") + 4;
  if (headEnd < 4) return undefined;
  const length = Number(/\r\ncontent-length: *(\d+)/i.exec(text.slice(0, headEnd))?.[1] ?? 0);
  if (text.length < headEnd + length) return undefined;
  const path = text.split(" ", 2)[1] ?? "";
  return { path, body: text.slice(headEnd, headEnd + length), length: headEnd + length };
}

function answer(
  socket: net.Socket,
  { path, body: request }: Asked,
  framing: Framing,
  { bytes, apart = false }: Manner,
): void {
  const isStream = /"stream": ?true/.test(request) || path.includes(":streamGenerateContent");
  const mark = /mark-\d+-[\da-f-]{36}/.exec(request)?.[0] ?? "no mark";
  const { whole, events } = answers[dialectOf(path)];
  const pieces = isStream ? events(mark) : [JSON.stringify(whole(`You said ${mark}`))];
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
  const last = () => void (framing === "close" && socket.end());
  const behind = bytes(events(stray).join(""));
  if (!apart) return void socket.write(head + framed + behind, last);
  socket.write(head + framed, () => {
    socket.write(behind, last);
  });
}

function dialectOf(path: string): keyof typeof answers {
  if (path.includes("enerateContent")) return "generate";
  if (path.endsWith("/messages")) return "messages";
  return path.endsWith("/responses") ? "responses" : "chat";
}

const data = (json: object) => `data: ${JSON.stringify(json)}\n\n`;
const named = (json: { type: string }, more: object = {}) =>
  `event: ${json.type}\n${data({ ...json, ...more })}`;
const chatUsage = { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 };
const messageUsage = { input_tokens: 10, output_tokens: 5 };
const responseUsage = {
  ...messageUsage,
  input_tokens_details: { cached_tokens: 0 },
  output_tokens_details: { reasoning_tokens: 0 },
  total_tokens: 15,
};
const generateUsage = { promptTokenCount: 10, candidatesTokenCount: 5, totalTokenCount: 15 };

const chatBase = { id: "c", created: 1, model: "m" };
const chatChunk = (fields: object) =>
  data({ ...chatBase, object: "chat.completion.chunk", ...fields });
const messageBase = { id: "msg_1", type: "message", role: "assistant", model: "m" };
const outputText = (text: string) => ({ type: "output_text", text, annotations: [] });
const outputItem = (text: string) => ({
  type: "message",
  id: "msg_1",
  status: "completed",
  role: "assistant",
  content: [outputText(text)],
});
const response = (text: string) => ({
  id: "resp_1",
  object: "response",
  created_at: 1,
  status: "completed",
  model: "m",
  error: null,
  incomplete_details: null,
  output: [outputItem(text)],
  usage: responseUsage,
});
const place = { item_id: "msg_1", output_index: 0, content_index: 0 };
const candidate = (text: string, more: object) => ({
  candidates: [{ content: { role: "model", parts: [{ text }] }, index: 0, ...more }],
  usageMetadata: generateUsage,
  modelVersion: "m",
});

/** An answer in each dialect, whole and as events. */
const answers = {
  chat: {
    whole: (text: string) => ({
      ...chatBase,
      object: "chat.completion",
      choices: [{ index: 0, message: { role: "assistant", content: text }, finish_reason: "stop" }],
      usage: chatUsage,
    }),
    events: (text: string) => [
      chatChunk({ choices: [{ index: 0, delta: { role: "assistant", content: "" } }] }),
      chatChunk({ choices: [{ index: 0, delta: { content: text } }] }),
      chatChunk({ choices: [{ index: 0, delta: {}, finish_reason: "stop" }] }),
      chatChunk({ choices: [], usage: chatUsage }),
      "data: [DONE]\n\n",
    ],
  },
  messages: {
    whole: (text: string) => ({
      ...messageBase,
      content: [{ type: "text", text }],
      stop_reason: "end_turn",
      stop_sequence: null,
      usage: messageUsage,
    }),
    events: (text: string) =>
      [
        {
          type: "message_start",
          message: { ...messageBase, content: [], stop_reason: null, usage: messageUsage },
        },
        { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } },
        { type: "content_block_delta", index: 0, delta: { type: "text_delta", text } },
        { type: "content_block_stop", index: 0 },
        {
          type: "message_delta",
          delta: { stop_reason: "end_turn", stop_sequence: null },
          usage: { output_tokens: 5 },
        },
        { type: "message_stop" },
      ].map((event) => named(event)),
  },
  responses: {
    whole: response,
    events: (text: string) =>
      [
        {
          type: "response.created",
          response: { ...response(text), status: "in_progress", output: [], usage: null },
        },
        {
          type: "response.output_item.added",
          output_index: 0,
          item: { ...outputItem(""), status: "in_progress", content: [] },
        },
        { type: "response.content_part.added", ...place, part: outputText("") },
        { type: "response.output_text.delta", ...place, delta: text },
        { type: "response.output_text.done", ...place, text },
        { type: "response.content_part.done", ...place, part: outputText(text) },
        { type: "response.output_item.done", output_index: 0, item: outputItem(text) },
        { type: "response.completed", response: response(text) },
      ].map((event, sequence_number) => named(event, { sequence_number })),
  },
  generate: {
    whole: (text: string) => candidate(text, { finishReason: "STOP" }),
    events: (
      text: string,
    ) => [data(candidate("You said ", {})), data(candidate(text, { finishReason: "STOP" }))],
  },
};
