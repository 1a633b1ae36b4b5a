import { Buffer } from "node:buffer";
import assert from "@std/assert";
import { compile } from "../../packaging/compile.ts";
import { runFlags } from "../../packaging/contents.ts";
import { temporaryDirectory } from "../support/service_files.ts";
import { putBundle } from "./put_bundle.ts";

/**
 * The runtime of compiled programs can't be had everywhere; `deno` itself stands in for it, which
 * gives a file that doesn't run but holds all that the real one would.
 */
const directory = temporaryDirectory("compiled");
const folder = `${directory}/bundle`;

Deno.test("the compiled program holds every file of the bundle, byte by byte", async () => {
  await putBundle(folder);
  await compile(folder, `${directory}/program`, undefined, { DENORT_BIN: Deno.execPath() });
  const { metadata, files } = readCompiled(await Deno.readFile(`${directory}/program`));
  const expected = await filesBelow(folder);
  assert.deepEqual([...files.keys()].sort(), expected.sort());
  for (const path of expected) {
    const there = files.get(path)!;
    const given = await Deno.readFile(`${folder}/${path}`);
    assert.ok(there.length === given.length && there.every((byte, at) => byte === given[at]), path);
  }
  assert.equal(metadata.entrypoint_key, "program.js");
  assert.deepEqual(metadata.unstable_config.features, ["no-legacy-abort", "net", "worker-options"]);
  const { permissions, v8_flags } = metadata;
  const allowed = Object.entries(permissions).filter(([name, value]) =>
    name.startsWith("allow_") && name !== "allow_import" && value !== null
  );
  assert.deepEqual(allowed.map(([name]) => name).sort(), [
    "allow_env",
    "allow_net",
    "allow_read",
    "allow_sys",
    "allow_write",
  ]);
  assert.deepEqual(permissions.allow_sys, ["osRelease"]);
  assert.deepEqual([permissions.deny_import, permissions.prompt], [[], false]);
  const flags = runFlags.at(-1)!.replace("--v8-flags=", "").split(",");
  for (const flag of flags) assert.ok(v8_flags.includes(flag), flag);
});

interface Metadata {
  entrypoint_key: string;
  permissions: Record<string, unknown>;
  v8_flags: string[];
  unstable_config: { features: string[] };
}

type Entry =
  | { File: { n: string; o: [offset: number, length: number] } }
  | { Dir: { n: string; e: Entry[] } };

/** What `deno compile` puts behind the runtime: settings, the tree of files, their bytes. */
function readCompiled(program: Uint8Array<ArrayBuffer>): {
  metadata: Metadata;
  files: ReadonlyMap<string, Uint8Array>;
} {
  const bytes = Buffer.from(program.buffer);
  // The runtime holds the word itself, but not twice in a row.
  const metadataAt = bytes.indexOf("d3n0l4ndd3n0l4nd") + 16;
  const metadata = sized(bytes, metadataAt);
  const treeAt = bytes.indexOf('[{"', metadataAt + 8 + metadata.length) - 8;
  const tree = sized(bytes, treeAt);
  const content = bytes.subarray(treeAt + 8 + tree.length + 8);
  const files = new Map<string, Uint8Array>();
  const walk = (entries: readonly Entry[], folder: string) => {
    for (const entry of entries) {
      if ("Dir" in entry) {
        walk(entry.Dir.e, `${folder}${entry.Dir.n}/`);
      } else {
        const [offset, length] = entry.File.o;
        files.set(`${folder}${entry.File.n}`, content.subarray(offset, offset + length));
      }
    }
  };
  walk(JSON.parse(tree.toString()), "");
  return { metadata: JSON.parse(metadata.toString()), files };
}

/** A part with its length in front, eight bytes, the lowest first. */
function sized(bytes: Buffer, at: number): Buffer {
  return bytes.subarray(at + 8, at + 8 + Number(bytes.readBigUInt64LE(at)));
}

async function filesBelow(path: string): Promise<string[]> {
  const found: string[] = [];
  for await (const { name, isDirectory } of Deno.readDir(path)) {
    if (!isDirectory) found.push(name);
    else for (const file of await filesBelow(`${path}/${name}`)) found.push(`${name}/${file}`);
  }
  return found;
}
