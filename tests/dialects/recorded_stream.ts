import { SseSplitter } from "../../src/base/sse.ts";
import { Meter } from "../../src/relay/meter.ts";
import { bytesOf, dialects, type Name } from "./translated.ts";

type Json = Record<string, unknown>;

/** The record of a stream, by the steps of the lane that passes it through. */
export function recordOf(vendor: Name, payloads: readonly Json[]): unknown {
  const dialect = dialects[vendor];
  const decoder = dialect.createStreamDecoder({});
  const meter = new Meter(1_000_000, () => 0);
  let repeated: unknown;
  const text = payloads.map((one) => `data: ${JSON.stringify(one)}\n\n`).join("");
  for (const event of new SseSplitter({ maxEventBytes: 1_000_000 }).push(bytesOf(text))) {
    const { events, terminal } = decoder.decode(event);
    if (terminal) repeated ??= dialect.wholeOf?.(event);
    meter.listen(events);
  }
  meter.listen(decoder.end().events);
  return repeated ?? dialect.encodeAnswer(meter.answer());
}
