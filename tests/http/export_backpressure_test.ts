import assert from "@std/assert";
import { pulledStream } from "../../src/base/pulled_stream.ts";
import { columnsOf } from "../../src/exports/row_writers.ts";
import type { ExportSource } from "../../src/exports/export_source.ts";
import { exportBytes } from "../../src/exports/text.ts";
import { openTestListener } from "../support/listener.ts";

/** Rows without end, and what became of them. */
function endless(): { source: ExportSource; seen: { rows: number; ended: Promise<void> } } {
  const ended = Promise.withResolvers<void>();
  const seen = { rows: 0, ended: ended.promise };
  const cells = columnsOf("interactions").map(([name]) =>
    name === "user_id" ? "x".repeat(1000) : null
  );
  const source: ExportSource = {
    snapshot: () => Promise.resolve(""),
    count: () => Promise.resolve(0),
    async *read() {
      try {
        for (;;) {
          seen.rows++;
          if (seen.rows % 100 === 0) await new Promise((resolve) => setTimeout(resolve));
          yield [cells];
        }
      } finally {
        ended.resolve();
      }
    },
  };
  return { source, seen };
}

Deno.test("a caller who does not read holds the query up, and one who leaves ends it", async () => {
  const { source, seen } = endless();
  const listener = await openTestListener(() =>
    new Response(pulledStream(exportBytes(source, {
      accountId: 1,
      format: "json",
      tables: ["interactions"],
      filters: {},
      rawCells: false,
      snapshot: "",
    })))
  );
  const caller = await Deno.connect({ hostname: "127.0.0.1", port: listener.port });
  await caller.write(new TextEncoder().encode("GET / HTTP/1.1\r\nHost: x\r\n\r\n"));
  // Until the buffers of sockets are full; then nothing more is read, however long it takes.
  let before = -1;
  for (let still = 0; still < 10;) {
    await new Promise((resolve) => setTimeout(resolve, 50));
    still = seen.rows === before && seen.rows > 0 ? still + 1 : 0;
    before = seen.rows;
    assert.ok(seen.rows < 100_000, `${seen.rows} rows for nobody`);
  }
  caller.close();
  await seen.ended;
  await listener.abort();
});
