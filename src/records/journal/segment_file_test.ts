import assert from "@std/assert";
import { createSegmentFile } from "./segment_file.ts";

const text = (path: string) => Deno.readTextFileSync(path);

Deno.test("what is written stands in order before zeros, which go when the file is closed", async () => {
  const folder = Deno.makeTempDirSync();
  const path = `${folder}/a`;
  const file = createSegmentFile(path);
  assert.equal(Deno.statSync(path).mode! & 0o777, 0o600);
  let all = "";
  for (let at = 0; at < 400; at++) {
    // Some larger than the room that is made at a time.
    const length = at % 100 === 50 ? 300_000 : 1 + at * 37 % 5_000;
    const record = String.fromCharCode(97 + at % 26).repeat(length);
    assert.equal(file.writeSync(new TextEncoder().encode(record)), length);
    all += record;
  }
  assert.equal(text(path).replace(/\0+$/, ""), all);
  assert.ok(Deno.statSync(path).size > all.length);
  file.truncateSync(1_000);
  file.writeSync(new TextEncoder().encode("end"));
  assert.equal(text(path).replace(/\0+$/, ""), `${all.slice(0, 1_000)}end`);
  await file.close();
  assert.equal(text(path), `${all.slice(0, 1_000)}end`);
  Deno.removeSync(folder, { recursive: true });
});

Deno.test("most records leave the file's length as it is", async () => {
  const folder = Deno.makeTempDirSync();
  const file = createSegmentFile(`${folder}/a`);
  const lengths = new Set<number>();
  for (let at = 0; at < 1_000; at++) {
    file.writeSync(new Uint8Array(1_000).fill(1));
    lengths.add(Deno.statSync(`${folder}/a`).size);
  }
  assert.equal(lengths.size, 4);
  await file.close();
  Deno.removeSync(folder, { recursive: true });
});

Deno.test("the event loop doesn't wait for the space of a removed file", async () => {
  const folder = Deno.makeTempDirSync();
  const open = (name: string) => {
    const file = createSegmentFile(`${folder}/${name}`);
    file.writeSync(new TextEncoder().encode("record"));
    return file;
  };
  const removed = open("removed");
  Deno.removeSync(`${folder}/removed`);
  const closed = removed.close();
  // It is still open: another thread empties it before it is closed.
  removed.readSync(0);
  await closed;
  assert.throws(() => removed.readSync(0), Deno.errors.BadResource);
  // The file has another name, so its records are not removed.
  const linked = open("linked");
  Deno.linkSync(`${folder}/linked`, `${folder}/copy`);
  Deno.removeSync(`${folder}/linked`);
  await linked.close();
  assert.equal(text(`${folder}/copy`), "record");
  Deno.removeSync(folder, { recursive: true });
});
