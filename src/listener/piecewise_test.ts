import assert from "@std/assert";
import { Buffer } from "node:buffer";
import type { Socket } from "node:net";
import { writePiecewise } from "./piecewise.ts";

const kibibyte = 1024;

/** A socket that takes a piece when the test lets it. */
function setUp() {
  const written: Uint8Array[] = [];
  const gathered: number[] = [];
  const takes: ((error?: Error) => void)[] = [];
  let taken = 0;
  const socket = {
    _write(chunk: Uint8Array | string, encoding: BufferEncoding, done: () => void) {
      written.push(typeof chunk === "string" ? Buffer.from(chunk, encoding) : chunk);
      takes.push(done);
    },
    _writev(chunks: unknown[], done: () => void) {
      gathered.push(chunks.length);
      done();
    },
  };
  writePiecewise(socket as unknown as Socket, () => taken++);
  return { socket, written, gathered, takes, counts: () => taken };
}

Deno.test("a large write goes in pieces of 64 KiB, each after the one before it", () => {
  const { socket, written, takes, counts } = setUp();
  const bytes = new Uint8Array(150 * kibibyte).map((_, at) => at % 251);
  const ends: unknown[] = [];
  socket._write(bytes, "utf8", (...error: unknown[]) => void ends.push(error));
  assert.deepEqual([written.length, counts()], [1, 1]);
  for (let n = 0; n < 3; n++) takes[n]!();
  assert.deepEqual(written.map(({ length }) => length / kibibyte), [64, 64, 22]);
  assert.ok(Buffer.concat(written).equals(bytes));
  assert.deepEqual([ends.length, counts()], [1, 3]);
  socket._write("é".repeat(70 * kibibyte), "utf8", () => {});
  for (let n = 3; n < takes.length; n++) takes[n]!();
  assert.equal(Buffer.concat(written.slice(3)).toString(), "é".repeat(70 * kibibyte));
});

Deno.test("a write that fails ends with its first piece", () => {
  const { socket, written, takes } = setUp();
  let failure: unknown;
  socket._write(new Uint8Array(150 * kibibyte), "utf8", (...[error]: unknown[]) => {
    failure = error;
  });
  takes[0]!(new Error("reset"));
  assert.deepEqual([written.length, String(failure)], [1, "Error: reset"]);
});

Deno.test("of a large answer and its head only the piece with both is copied", () => {
  const { socket, written, takes } = setUp();
  const head = "HTTP/1.1 200 OK\r\n\r\n";
  const body = Buffer.from(new Uint8Array(200 * kibibyte).map((_, at) => at % 251));
  let ends = 0;
  const chunks = [{ chunk: head, encoding: "latin1" }, { chunk: body, encoding: "buffer" }];
  socket._writev([...chunks, { chunk: "", encoding: "latin1" }], () => ends++);
  for (let n = 0; n < takes.length; n++) takes[n]!();
  assert.deepEqual(written.map(({ buffer }) => buffer === body.buffer), [false, true, true, true]);
  assert.deepEqual(written.slice(0, 3).map(({ length }) => length / kibibyte), [64, 64, 64]);
  assert.equal(ends, 1);
  assert.ok(Buffer.concat(written).equals(Buffer.concat([Buffer.from(head), body])));
});

Deno.test("small writes stay as they are, several that are large together go in pieces", () => {
  const { socket, written, gathered, counts } = setUp();
  socket._write(new Uint8Array(64 * kibibyte), "utf8", () => {});
  assert.deepEqual([written.length, counts()], [1, 0]);
  const chunk = { chunk: new Uint8Array(32 * kibibyte), encoding: "utf8" };
  socket._writev([chunk, chunk], () => {});
  assert.deepEqual([gathered, written.length, counts()], [[2], 1, 0]);
  socket._writev([chunk, chunk, { chunk: "ab", encoding: "latin1" }], () => {});
  assert.deepEqual([gathered, written[1]!.length, counts()], [[2], 64 * kibibyte, 1]);
});
