import assert from "@std/assert";
import { Fault } from "../shared/fault.ts";
import { eventListener } from "./operations.ts";

const piece = 'event: partial\ndata: {"piece":1}\n\n';
const last = 'event: completed\ndata: {"last":true}';

/** What the caller gets of a stream that ends in order with these bytes behind a first event. */
function endingOf(rest: string): { bytes: string; code?: string } {
  let isWhole = false;
  const listener = eventListener("req-1", {
    read: ({ data }) => void (isWhole ||= data?.includes('"last":true') === true),
    isLast: () => false,
    isWhole: () => isWhole,
    settle: () => ({}),
  });
  let bytes = "";
  const add = (more?: Uint8Array) => bytes += new TextDecoder().decode(more);
  add(listener.take(new TextEncoder().encode(piece + rest)).bytes);
  try {
    add(listener.takeLast?.().bytes);
    add(listener.end());
    return { bytes };
  } catch (thrown) {
    if (!(thrown instanceof Fault)) throw thrown;
    add(listener.fail(thrown));
    return { bytes, code: thrown.code };
  }
}

Deno.test("the last event of a stream of pictures or words gets the blank line that it lacks", () => {
  for (const end of ["\n\n", "\r\n\r\n", "\r\r"]) {
    assert.deepEqual(endingOf(last + end), { bytes: piece + last + end });
  }
  for (const end of ["", "\n", "\r\n\r"]) {
    assert.deepEqual(endingOf(last + end), { bytes: `${piece}${last}${end}\n\n` });
  }
});

Deno.test("half an event at the end is left out, and doesn't run into the error behind it", () => {
  assert.deepEqual(endingOf(`${last}\n\ndata: {"ha`), { bytes: `${piece}${last}\n\n` });
  const done = `${last}\n\ndata: [DONE]`;
  assert.deepEqual(endingOf(done), { bytes: piece + done });
  for (const [rest, passed] of [["eve", ""], ['data: {"ha', ""], ['data: {"piece":2}', "\n\n"]]) {
    const { bytes, code } = endingOf(rest!);
    assert.equal(code, "upstream_stream_truncated");
    const before = passed === "" ? piece : piece + rest + passed;
    assert.equal(bytes.slice(0, before.length), before);
    assert.match(bytes.slice(before.length), /^event: error\ndata: \{"type":"error".*\}\n\n$/);
  }
});
