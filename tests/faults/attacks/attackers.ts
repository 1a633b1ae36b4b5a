import net from "node:net";
import { systemClock } from "../../../src/base/clock.ts";
import { mintKey } from "../../../src/keys/credential.ts";
import { hostileBodies } from "./bodies.ts";

/** Where the service is, and a key of the attacker's own account. */
export interface Target {
  baseUrl: string;
  key: string;
}

/** One kind of attack; it is begun again as soon as it ends, until the time is over. */
export interface Attacker {
  readonly name: string;
  round(target: Target, over: AbortSignal): Promise<void>;
}

export const attackers: readonly Attacker[] = [
  { name: "heavy bodies", round: heavyBodies },
  { name: "costly texts", round: costlyTexts },
  { name: "slow uploads", round: slowUploads },
  { name: "silent connections", round: silentConnections },
  { name: "odd heads", round: oddHeads },
  { name: "unread streams", round: unreadStreams },
  { name: "graders", round: graders },
  { name: "exports, deletions and pictures", round: jobs },
  { name: "wrong keys", round: wrongKeys },
];

const mebibyte = 1024 * 1024;

/** Tens of megabytes, whose refusal must be cheap. */
async function heavyBodies(target: Target, over: AbortSignal): Promise<void> {
  for (const { path, body } of hostileBodies) {
    for (const bytes of [30 * mebibyte, 3 * mebibyte]) {
      await post(target, path, body(bytes), over);
      await pause(500, over);
    }
  }
}

/** Some hundred kilobytes, whose cost must not grow with their square. */
async function costlyTexts(target: Target, over: AbortSignal): Promise<void> {
  for (const { path, body } of hostileBodies) {
    await post(target, path, body(300_000), over);
    await pause(100, over);
  }
  await post(target, "/chat/v1/models", "", over, { range: `bytes=${" ".repeat(12_000)}` });
}

/** Bodies announced and never sent, with a length and without one. */
async function slowUploads(target: Target, over: AbortSignal): Promise<void> {
  const lengths = ["content-length: 12000000", "transfer-encoding: chunked"];
  await Promise.all(
    Array.from({ length: 12 }, (_, at) => at).map(async (at) => {
      const socket = connect(target);
      socket.write(`${requestHead(target, "/chat/v1/chat/completions")}${lengths[at % 2]}\r\n\r\n`);
      for (let step = 0; step < 20 && !over.aborted && socket.writable; step++) {
        socket.write(at % 2 ? "1\r\n{\r\n" : "{");
        await pause(500, over);
      }
      socket.destroy();
    }),
  );
}

/** Connections that say nothing, or a line a second. */
async function silentConnections(target: Target, over: AbortSignal): Promise<void> {
  const sockets = Array.from({ length: 400 }, () => connect(target));
  for (let second = 0; second < 20 && !over.aborted; second++) {
    for (const socket of sockets.slice(0, 100)) {
      if (socket.writable) socket.write(second === 0 ? "GET / HTTP/1.1\r\n" : "x-line: 1\r\n");
    }
    await pause(1000, over);
  }
  for (const socket of sockets) socket.destroy();
}

/** Heads that are refused, with what would be another's request or answer behind them. */
async function oddHeads(target: Target, over: AbortSignal): Promise<void> {
  const injected =
    "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 8\r\n\r\n" +
    "INJECTED";
  const heads = [
    `GET /livez HTTP/1.1\r\nhost: x\r\nx-big: ${"a".repeat(17_000)}`,
    "GET /livez HTTP/1.1\r\nhost: x\r\nno colon\r\n\r\n",
    "CONNECT x:1 HTTP/1.1\r\nhost: x\r\n\r\n",
    "GET / HTTP/1.1\r\nhost: x\r\nupgrade: websocket\r\nconnection: upgrade\r\n\r\n",
    "POST / HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n",
    "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
  ];
  for (const head of heads) {
    const socket = connect(target);
    socket.write(head);
    for (let step = 0; step < 5 && !over.aborted && socket.writable; step++) {
      await pause(5, over);
      socket.write(injected);
    }
    socket.destroy();
  }
}

/** Long streams of which nothing is taken. */
async function unreadStreams(target: Target, over: AbortSignal): Promise<void> {
  const body = JSON.stringify({
    model: "vendor-b/gpt-4.1",
    stream: true,
    messages: [{ role: "user", content: "[long:20000] Talk." }],
  });
  const sockets = Array.from({ length: 20 }, () => {
    const socket = connect(target);
    socket.pause();
    const head = requestHead(target, "/openai/v1/chat/completions");
    socket.write(`${head}content-length: ${body.length}\r\n\r\n${body}`);
    return socket;
  });
  await pause(15_000, over);
  for (const socket of sockets) socket.destroy();
}

/** Schemas and patterns that take as long as they may. */
async function graders(target: Target, over: AbortSignal): Promise<void> {
  const properties = Object.fromEntries(
    Array.from(
      { length: 2000 },
      (_, at) => [`p${at}`, { type: "string", pattern: `^(a+)+${at}$` }],
    ),
  );
  const checks = [
    { type: "json_schema", schema: { type: "object", properties } },
    { type: "regex", pattern: "^(a|a)*$" },
    { type: "regex", pattern: "(x+x+)+y" },
  ];
  await Promise.all(
    Array.from({ length: 20 }, (_, at) =>
      post(
        target,
        "/api/v1/evals",
        JSON.stringify({ filters: {}, model: "vendor-b/gpt-4.1", graders: [checks[at % 3]] }),
        over,
      )),
  );
  await pause(1000, over);
}

/** What takes the store's time, and its room. */
async function jobs(target: Target, over: AbortSignal): Promise<void> {
  const days = { start_date: "2020-01-01T00:00:00Z" };
  const picture = `data:image/png;base64,${"iVBORw0KGgo".padEnd(4 * mebibyte, "A")}`;
  const content = [{ type: "image_url", image_url: { url: picture } }];
  const asks: [string, object][] = [
    ["/api/v1/exports", days],
    ["/api/v1/exports", { range: { start: "2020-01-01", end: "2030-01-01" } }],
    ["/api/v1/data", { user_id: "nobody", reason: "asked for" }],
    ["/openai/v1/chat/completions", { model: "gpt-4.1", messages: [{ role: "user", content }] }],
  ];
  for (const [path, body] of asks) {
    await Promise.all(
      Array.from({ length: 5 }, () => post(target, path, JSON.stringify(body), over)),
    );
  }
  await pause(1000, over);
}

/** Keys that are well-formed and nobody has. */
async function wrongKeys(target: Target, over: AbortSignal): Promise<void> {
  await Promise.all(
    Array.from({ length: 20 }, () => {
      const key = mintKey(systemClock).value.reveal();
      return post({ ...target, key }, "/chat/v1/chat/completions", "{}", over);
    }),
  );
  await pause(200, over);
}

/** In dual-key form with a made-up vendor key, so that no call costs the attacker anything. */
function credentials({ key }: Target): string {
  return `Bearer ${key};sk-made-up-vendor-key-0000`;
}

async function post(
  target: Target,
  path: string,
  body: string,
  over: AbortSignal,
  headers: Record<string, string> = {},
): Promise<void> {
  const signal = AbortSignal.any([over, AbortSignal.timeout(60_000)]);
  const answer = await fetch(target.baseUrl + path, {
    method: body === "" ? "GET" : "POST",
    headers: {
      authorization: credentials(target),
      "content-type": "application/json",
      ...headers,
    },
    ...(body === "" ? {} : { body }),
    signal,
  });
  await answer.arrayBuffer();
}

function requestHead(target: Target, path: string): string {
  return `POST ${path} HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n` +
    `authorization: ${credentials(target)}\r\n`;
}

function connect({ baseUrl }: Target): net.Socket {
  const { hostname, port } = new URL(baseUrl);
  const socket = net.connect(Number(port), hostname);
  socket.on("error", () => {});
  return socket;
}

function pause(ms: number, over: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const end = () => {
      clearTimeout(timer);
      over.removeEventListener("abort", end);
      resolve();
    };
    const timer = setTimeout(end, ms);
    over.addEventListener("abort", end);
    if (over.aborted) end();
  });
}
