import assert from "@std/assert";

const program = new URL("../../tests/support/programs/orphan_program.ts", import.meta.url);

/** Starts a parent of this role and kills it once its worker has started. */
async function orphan(role: string) {
  const parent = new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", "--no-check", program.pathname, role],
    ...{ stdin: "piped", stdout: "piped", stderr: "null" },
  }).spawn();
  const output = parent.stdout.pipeThrough(new TextDecoderStream()).getReader();
  assert.equal((await output.read()).value, "started\n");
  parent.kill("SIGKILL");
  await parent.status;
  return { output, input: parent.stdin.getWriter() };
}

Deno.test("a worker that reports to a parent that was killed meanwhile stops in order", async () => {
  const { output, input } = await orphan("parent");
  await input.write(new Uint8Array(1));
  assert.equal((await output.read()).value, "stopped\n");
  assert.equal((await output.read()).done, true);
  await input.close();
});

Deno.test("a worker whose parent was killed before it had read everything stops in order", async () => {
  const { output, input } = await orphan("busy-parent");
  const late = setTimeout(() => input.close(), 10_000);
  assert.equal((await output.read()).value, "stopped\n");
  assert.equal((await output.read()).done, true);
  clearTimeout(late);
  await input.close();
});
