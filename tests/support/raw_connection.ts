/**
 * Opens a raw connection, over TLS if there is a certificate to trust; `send` returns false once
 * the connection is closed.
 */
export async function dial(port: number, caCert?: string) {
  const connection = caCert === undefined
    ? await Deno.connect({ hostname: "127.0.0.1", port })
    : await Deno.connectTls({ hostname: "localhost", port, caCerts: [caCert] });
  return {
    async send(text: string): Promise<boolean> {
      const bytes = new TextEncoder().encode(text);
      try {
        for (let at = 0; at < bytes.length;) at += await connection.write(bytes.subarray(at));
        return true;
      } catch {
        return false;
      }
    },
    /** Reads everything until the other side closes. */
    async rest(): Promise<string> {
      const parts: string[] = [];
      const buffer = new Uint8Array(64 * 1024);
      try {
        for (;;) {
          const length = await connection.read(buffer);
          if (length === null) break;
          parts.push(new TextDecoder().decode(buffer.subarray(0, length)));
        }
      } catch {
        parts.push("(reset)");
      }
      return parts.join("");
    },
    /** Reads the next piece. */
    async piece(): Promise<string> {
      const buffer = new Uint8Array(64 * 1024);
      const length = await connection.read(buffer).catch(() => null);
      return length === null ? "(closed)" : new TextDecoder().decode(buffer.subarray(0, length));
    },
    [Symbol.dispose]() {
      try {
        connection.close();
      } catch {
        // It is closed already.
      }
    },
  };
}

export const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
export const get = "GET / HTTP/1.1\r\nhost: x\r\n\r\n";

/** Callbacks for a listener that collect the reasons of ended connections in `ended`. */
export function listenersOf(ended: string[]) {
  const quiet = () => {};
  return {
    log: { info: quiet, warn: quiet, error: quiet },
    changed: quiet,
    count: (reason: string, times: number) => {
      for (let at = 0; at < times; at++) ended.push(reason);
    },
  };
}
