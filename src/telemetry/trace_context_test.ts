import assert from "@std/assert";
import { newSpanId, newTraceId, readTraceparent } from "./trace_context.ts";

const traceId = "4bf92f3577b34da6a3ce929d0e0e4736";
const spanId = "00f067aa0ba902b7";

Deno.test("a trace's header is read as its specification says", () => {
  const read = (version: string, flags: string) =>
    readTraceparent(`${version}-${traceId}-${spanId}-${flags}`);
  assert.deepEqual(read("00", "01"), { traceId, spanId, isSampled: true });
  assert.deepEqual(readTraceparent(` 00-${traceId}-${spanId}-01\t`)?.traceId, traceId);
  for (const [flags, isSampled] of [["00", false], ["02", false], ["ff", true], ["1f", true]]) {
    assert.equal(read("00", String(flags))?.isSampled, isSampled, String(flags));
  }
  // A later version may have more fields, this one not; there will never be a version ff.
  assert.deepEqual(read("01", "01-more"), { traceId, spanId, isSampled: true });
  for (const [version, flags] of [["00", "01-more"], ["ff", "01"], ["0", "01"], ["00", "1"]]) {
    assert.equal(read(version!, flags!), undefined, `${version} ${flags}`);
  }
});

Deno.test("a header that names no trace or no span starts a new trace", () => {
  const none = [
    ...[undefined, "", "00", `00-${"0".repeat(32)}-${spanId}-01`],
    ...[`00-${traceId}-${"0".repeat(16)}-01`, `00-${traceId.toUpperCase()}-${spanId}-01`],
  ];
  for (const header of none) assert.equal(readTraceparent(header), undefined, header);
  assert.match(newTraceId(), /^[0-9a-f]{32}$/);
  assert.match(newSpanId(), /^[0-9a-f]{16}$/);
});
