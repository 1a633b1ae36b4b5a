import { joinBytes } from "../../src/base/bytes.ts";

/** A request that is under way on a connection of its own. */
export interface RawCall {
  /** The whole answer, once the server closed the connection. */
  answer(): Promise<RawAnswer>;
  /** Closes the connection. */
  leave(): void;
}

export interface RawAnswer {
  status: number;
  /** Names in lower case, as often as they were sent. */
  headers: readonly [string, string][];
  /** The body without its framing. */
  body: Uint8Array;
}

/**
 * Posts JSON text below HTTP: head and body leave in one write, nothing is added, decompressed or
 * followed, and the server is asked to close the connection.
 */
export async function postRaw(
  baseUrl: string,
  path: string,
  headers: Readonly<Record<string, string>>,
  body: string,
): Promise<RawCall> {
  const { hostname, port } = new URL(baseUrl);
  const connection = await Deno.connect({ hostname, port: Number(port) });
  const bytes = new TextEncoder().encode(body);
  const lines = Object.entries({
    host: "gateway",
    connection: "close",
    "content-length": String(bytes.length),
    ...headers,
  }).map(([name, value]) => `${name}: ${value}\r\n`);
  const head = new TextEncoder().encode(`POST ${path} HTTP/1.1\r\n${lines.join("")}\r\n`);
  await writeAll(connection, joinBytes([head, bytes]));
  return {
    async answer() {
      const chunks: Uint8Array[] = [];
      for await (const chunk of connection.readable) chunks.push(chunk);
      return parseAnswer(joinBytes(chunks));
    },
    leave: () => connection.close(),
  };
}

async function writeAll(connection: Deno.Conn, bytes: Uint8Array): Promise<void> {
  for (let at = 0; at < bytes.length;) at += await connection.write(bytes.subarray(at));
}

function parseAnswer(bytes: Uint8Array): RawAnswer {
  const text = new TextDecoder("latin1").decode(bytes);
  const end = text.indexOf("\r\n\r\n");
  const [start = "", ...lines] = text.slice(0, end).split("\r\n");
  const headers = lines.map((line): [string, string] => {
    const colon = line.indexOf(":");
    return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()];
  });
  const rest = bytes.subarray(end + 4);
  const chunked = headers.some(([name, value]) =>
    name === "transfer-encoding" && value === "chunked"
  );
  return {
    status: Number(start.split(" ")[1]),
    headers,
    body: chunked ? unchunk(rest) : rest,
  };
}

/** Throws when the body has no end: the answer was cut. */
function unchunk(bytes: Uint8Array): Uint8Array {
  const chunks: Uint8Array[] = [];
  for (let at = 0;;) {
    const lineEnd = bytes.indexOf(0x0d, at);
    if (lineEnd < 0) throw new Error("The answer was cut in the middle");
    const size = parseInt(new TextDecoder().decode(bytes.subarray(at, lineEnd)), 16);
    if (size === 0) return joinBytes(chunks);
    chunks.push(bytes.subarray(lineEnd + 2, lineEnd + 2 + size));
    at = lineEnd + 2 + size + 2;
  }
}
