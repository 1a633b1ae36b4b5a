/// <reference lib="deno.worker" />
/**
 * A vendor in its own thread. A message with a number of words starts it: it posts its port, and
 * answers one request with so many words, each in its own packet, three per millisecond.
 */
const pauseMs = 0.3;
const encoder = new TextEncoder();
const clock = new Int32Array(new SharedArrayBuffer(4));

self.onmessage = async ({ data: words }: MessageEvent<number>) => {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  self.postMessage(listener.addr.port);
  const connection = await listener.accept();
  connection.setNoDelay();
  await connection.read(new Uint8Array(4096));
  const write = (text: string) => connection.write(encoder.encode(text));
  await write("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n");
  for (let word = 0; word < words; word++) {
    await write("5\r\nword \r\n");
    Atomics.wait(clock, 0, 0, pauseMs);
  }
  await write("0\r\n\r\n");
};
