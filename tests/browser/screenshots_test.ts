import assert from "@std/assert";

Deno.test("the task of screenshots makes a picture of every page", async () => {
  const folder = await Deno.makeTempDir({ prefix: "gateway-pictures-" });
  const { code, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", "tests/browser/screenshots.ts", folder, "phone", "dark"],
    stdout: "null",
    stderr: "piped",
  }).output();
  assert.equal(code, 0, new TextDecoder().decode(stderr));
  const names = [...Deno.readDirSync(folder)].map(({ name }) => name);
  assert.ok(names.length > 30, names.join(" "));
  for (const name of names) {
    const { size } = await Deno.stat(`${folder}/${name}`);
    assert.ok(size > 5_000, `${name} has ${size} bytes`);
  }
  await Deno.remove(folder, { recursive: true });
});
