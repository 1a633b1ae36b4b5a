import assert from "@std/assert";
import { unpackImage } from "./image.ts";

async function withArchive(
  entries: readonly Uint8Array[],
  test: (image: URL, to: string) => void | Promise<void>,
) {
  const folder = await Deno.makeTempDir();
  try {
    const archive = new Blob([
      ...entries.map((entry) => new Uint8Array(entry)),
      new Uint8Array(1024),
    ]);
    const packed = archive.stream().pipeThrough(new CompressionStream("gzip"));
    await Deno.writeFile(`${folder}/image.tar.gz`, packed);
    await test(new URL(`file://${folder}/image.tar.gz`), `${folder}/to`);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

/** An entry of a tar archive. */
function entry(name: string, type: string, content = ""): Uint8Array {
  const size = new TextEncoder().encode(content).length;
  const bytes = new Uint8Array(512 + Math.ceil(size / 512) * 512);
  const write = (at: number, text: string) => bytes.set(new TextEncoder().encode(text), at);
  write(0, name);
  write(100, type === "5" ? "0000750" : "0000600");
  write(124, size.toString(8).padStart(11, "0"));
  write(156, type);
  write(512, content);
  return bytes;
}

Deno.test("folders and files are unpacked with their contents and modes", async () => {
  const long = "x".repeat(1300);
  const entries = [
    entry("/base", "5"),
    entry("/base/1", "0", long),
    entry("/PG_VERSION", "0", "18\n"),
  ];
  await withArchive([...entries, entry("/empty", "0")], async (image, to) => {
    unpackImage(image, to);
    assert.equal(await Deno.readTextFile(`${to}/base/1`), long);
    assert.equal(await Deno.readTextFile(`${to}/PG_VERSION`), "18\n");
    assert.equal((await Deno.stat(`${to}/empty`)).size, 0);
    assert.equal((await Deno.stat(`${to}/base`)).mode! & 0o777, 0o750);
    assert.equal((await Deno.stat(`${to}/base/1`)).mode! & 0o777, 0o600);
  });
});

Deno.test("entries that would leave the directory, and links, are refused", async () => {
  for (const bad of [entry("../outside", "0", "x"), entry("/link", "2")]) {
    await withArchive([bad], (image, to) => {
      assert.throws(() => unpackImage(image, to), /unknown kind/);
    });
  }
});
