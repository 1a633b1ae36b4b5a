import assert from "@std/assert";
import { writeGenerated } from "./generate.ts";

/** That the committed ones are right is a step of the gate, which takes half a minute. */
Deno.test("a file that is missing, changed or too many is found, and mended", async () => {
  const folder = await Deno.makeTempDir();
  try {
    const url = new URL(`file://${folder}/`);
    const files = new Map([
      ...["openapi.json", "openapi-3.0.json", "client/generated/types.gen.ts"],
      "client/generated/core/params.gen.ts",
    ].map((name) => [name, `text of ${name}`]));
    assert.deepEqual(writeGenerated(url, files, false), [...files.keys()]);
    await Deno.writeTextFile(new URL("openapi.json", url), "x", { append: true });
    await Deno.remove(new URL("client/generated/types.gen.ts", url));
    await Deno.writeTextFile(new URL("client/generated/core/old.gen.ts", url), "");
    const wrong = [
      "openapi.json",
      "client/generated/types.gen.ts",
      "client/generated/core/old.gen.ts",
    ];
    assert.deepEqual(writeGenerated(url, files, true), wrong);
    assert.deepEqual(writeGenerated(url, files, false), wrong);
    assert.deepEqual(writeGenerated(url, files, true), []);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

Deno.test("after a change without generating 'openapi --check' fails", async () => {
  const folder = await Deno.makeTempDir();
  try {
    const root = decodeURIComponent(new URL("..", import.meta.url).pathname);
    for (const path of ["contracts", "openapi"]) copy(`${root}${path}`, `${folder}/${path}`);
    for (const path of ["deno.json", "deno.lock"]) {
      Deno.copyFileSync(root + path, `${folder}/${path}`);
    }
    // As somebody would: one more value of an answer.
    change(
      `${folder}/contracts/data/health.ts`,
      '["ok", "degraded", "down"]',
      '["ok", "down", "gone"]',
    );
    const { code, output } = check(folder);
    assert.equal(code, 1);
    for (const name of ["openapi.json", "openapi-3.0.json", "client/generated/types.gen.ts"]) {
      assert.match(output, new RegExp(`^openapi/${name} is not what contracts/ makes`, "m"));
    }
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

function check(folder: string): { code: number; output: string } {
  const { code, stdout } = new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", "--frozen", "openapi/generate.ts", "--check"],
    cwd: folder,
  }).outputSync();
  return { code, output: new TextDecoder().decode(stdout) };
}

function change(path: string, from: string, to: string): void {
  const text = Deno.readTextFileSync(path);
  assert.ok(text.includes(from), `${path} has no ${from}`);
  Deno.writeTextFileSync(path, text.replace(from, to));
}

function copy(from: string, to: string): void {
  Deno.mkdirSync(to);
  for (const { name, isDirectory } of Deno.readDirSync(from)) {
    if (isDirectory) copy(`${from}/${name}`, `${to}/${name}`);
    else Deno.copyFileSync(`${from}/${name}`, `${to}/${name}`);
  }
}
