import { Buffer } from "node:buffer";
import { connect } from "node:net";
import process from "node:process";

/**
 * Opens streams gradually and reads them to their end. Measures each chunk's delay by the sending
 * time that it holds. Reads its order (`HoldersOrder`) from the first argument, prints a line when
 * all have begun, and then what it saw (`HoldersSight`).
 */
export interface HoldersOrder {
  port: number;
  /** Local addresses to use in turn. */
  from: readonly string[];
  path: string;
  headers: Readonly<Record<string, string>>;
  body: string;
  streams: number;
  /** How many streams are opened per second. */
  perSecond: number;
}

export interface HoldersSight {
  /** Streams that were complete, and streams that were not. */
  whole: number;
  broken: number;
  /** How many attempts the service refused; each was repeated a second later. */
  refused: number;
  chunks: number;
  /** Milliseconds from the vendor's clock to ours, once all have begun. */
  late: { p50: number; p99: number; p999: number; most: number };
  /** The part of a processor that this program used. */
  busy: number;
}

const order: HoldersOrder = JSON.parse(Deno.args[0]!);
const bytes = Buffer.from(
  `POST ${order.path} HTTP/1.1\r\n` +
    Object.entries({
      host: "bench",
      "content-type": "application/json",
      "content-length": String(Buffer.byteLength(order.body)),
      connection: "close",
      ...order.headers,
    }).map(([name, value]) => `${name}: ${value}\r\n`).join("") + `\r\n${order.body}`,
);
const sight = { whole: 0, broken: 0, refused: 0, chunks: 0 };
const late: number[] = [];
let begun = 0;
let isCounting = false;
const began = performance.now();
const cpu = process.cpuUsage();

async function hold(index: number): Promise<void> {
  for (let ending = "refused"; ending === "refused";) {
    ending = await holdOne(index);
    if (ending === "whole") sight.whole++;
    else if (ending === "broken") sight.broken++;
    else {
      sight.refused++;
      await new Promise((resolve) => setTimeout(resolve, 1000));
    }
  }
}

function holdOne(index: number): Promise<"whole" | "broken" | "refused"> {
  const from = order.from[index % order.from.length]!;
  const socket = connect({ port: order.port, host: "127.0.0.1", localAddress: from });
  socket.setEncoding("latin1");
  let rest = "";
  let isFirst = true;
  let ending: "whole" | "broken" | "refused" = "broken";
  socket.on("data", (piece: string) => {
    const now = Date.now();
    const text = rest + piece;
    if (isFirst) {
      isFirst = false;
      if (text.startsWith("HTTP/1.1 200")) begun++;
      else if (text.startsWith("HTTP/1.1 503")) ending = "refused";
      else console.error(text.slice(9, 12), /"code":"?\w+/.exec(text)?.[0] ?? "");
    }
    for (const [, sent] of text.matchAll(/ sent (\d+);/g)) {
      sight.chunks++;
      if (isCounting) late.push(now - Number(sent));
    }
    if (/data: \[DONE\]|event: message_stop/.test(text)) ending = "whole";
    // Keeps what may be the beginning of a sending time.
    rest = text.slice(Math.max(text.lastIndexOf("\n"), text.length - 32));
    if (/ sent \d+;/.test(rest)) rest = "";
  });
  return new Promise((resolve) => {
    socket.on("error", () => {});
    socket.on("close", () => resolve(ending));
    socket.write(bytes);
  });
}

const held: Promise<void>[] = [];
while (held.length < order.streams) {
  const due = Math.min(order.streams, (performance.now() - began) / 1000 * order.perSecond);
  while (held.length < due) held.push(hold(held.length));
  await new Promise((resolve) => setTimeout(resolve, 10));
}
while (begun < order.streams && performance.now() - began < 60_000) {
  await new Promise((resolve) => setTimeout(resolve, 50));
}
console.log(JSON.stringify({ begun }));
isCounting = true;
await Promise.all(held);
late.sort((a, b) => a - b);
const at = (part: number) => late[Math.min(late.length - 1, Math.floor(late.length * part))] ?? NaN;
const { user, system } = process.cpuUsage(cpu);
const seen: HoldersSight = {
  ...sight,
  late: { p50: at(0.5), p99: at(0.99), p999: at(0.999), most: at(1) },
  busy: (user + system) / 1000 / (performance.now() - began),
};
console.log(JSON.stringify(seen));
