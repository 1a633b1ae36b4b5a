import { joinBytes } from "../../src/base/bytes.ts";

/** A request in progress on its own connection. */
export interface RawCall {
  /** Returns the whole answer once the server has closed the connection. */
  answer(): Promise<RawAnswer>;
  /** Closes the connection. */
  leave(): void;
}

export interface RawAnswer {
  status: number;
  /** Each header as often as it was sent, with names in lower case. */
  headers: readonly [string, string][];
  /** The body without its framing. */
  body: Uint8Array;
}

/**
 * Posts JSON text without an HTTP client: head and body are sent in one write, no headers are added
 * but the necessary ones, nothing is decompressed, no redirect is followed, and the server is asked
 * to close the connection.
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

/** Removes chunked framing. Throws if the body has no end, which means that it was cut. */
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
