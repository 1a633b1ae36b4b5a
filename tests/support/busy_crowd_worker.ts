/// <reference lib="deno.worker" />
/**
 * Keeps many connections busy, each sending its next request as soon as it gets an answer, while
 * newcomers send one request each. Posts `"asked"` when all newcomers have sent theirs, and on
 * `"over"` the number of newcomers that got an answer.
 */
export interface CrowdOrder {
  readonly port: number;
  readonly connections: number;
  readonly newcomers: number;
  /** Index 0 counts the requests of all busy connections. */
  readonly sent: Int32Array<SharedArrayBuffer>;
}

const request = new TextEncoder().encode("GET / HTTP/1.1\r\nhost: x\r\n\r\n");
let answered = 0;

self.onmessage = async ({ data }: MessageEvent<CrowdOrder | "over">) => {
  if (data === "over") return self.postMessage(answered);
  const { port, connections, newcomers, sent } = data;
  for (let one = 0; one < connections; one++) void stayBusy(port, sent);
  await pause(1_500);
  for (let one = 0; one < newcomers; one++) {
    void ask(port);
    await pause(50);
  }
  self.postMessage("asked");
};

async function stayBusy(port: number, sent: Int32Array<SharedArrayBuffer>): Promise<void> {
  const connection = await Deno.connect({ hostname: "127.0.0.1", port });
  const answer = new Uint8Array(4_096);
  for (;;) {
    await connection.write(request);
    Atomics.add(sent, 0, 1);
    if (await connection.read(answer) === null) return;
  }
}

async function ask(port: number): Promise<void> {
  using connection = await Deno.connect({ hostname: "127.0.0.1", port });
  await connection.write(request);
  if (await connection.read(new Uint8Array(4_096)) !== null) answered++;
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
