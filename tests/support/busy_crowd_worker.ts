/// <reference lib="deno.worker" />
/**
 * Keeps many connections busy, each asking again as soon as it is answered, and has newcomers ask
 * once beside them; tells how long each of those waited, `null` for one that was not answered.
 */
export interface CrowdOrder {
  readonly port: number;
  readonly connections: number;
  readonly newcomers: number;
}

const request = new TextEncoder().encode("GET / HTTP/1.1\r\nhost: x\r\n\r\n");
const patienceMs = 2_000;

self.onmessage = async ({ data }: MessageEvent<CrowdOrder>) => {
  const { port, connections, newcomers } = data;
  for (let one = 0; one < connections; one++) void stayBusy(port);
  await pause(1_500);
  const waits: Promise<number | null>[] = [];
  for (let one = 0; one < newcomers; one++) {
    waits.push(ask(port));
    await pause(100);
  }
  self.postMessage(await Promise.all(waits));
};

async function stayBusy(port: number): Promise<void> {
  const connection = await Deno.connect({ hostname: "127.0.0.1", port });
  const answer = new Uint8Array(4_096);
  for (;;) {
    await connection.write(request);
    if (await connection.read(answer) === null) return;
  }
}

async function ask(port: number): Promise<number | null> {
  const beganMs = performance.now();
  using connection = await Deno.connect({ hostname: "127.0.0.1", port });
  await connection.write(request);
  const answered = connection.read(new Uint8Array(4_096)).then(() => performance.now() - beganMs);
  answered.catch(() => {});
  return await Promise.race([answered, pause(patienceMs)]);
}

function pause(ms: number): Promise<null> {
  return new Promise((resolve) => setTimeout(resolve, ms, null));
}
