import assert from "@std/assert";

const program = new URL("../../tests/support/programs/orphan_program.ts", import.meta.url);

Deno.test("a worker that reports to a parent that was killed meanwhile stops in order", async () => {
  const parent = new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", "--no-check", program.pathname, "parent"],
    ...{ stdin: "piped", stdout: "piped", stderr: "null" },
  }).spawn();
  const output = parent.stdout.pipeThrough(new TextDecoderStream()).getReader();
  assert.equal((await output.read()).value, "started\n");
  parent.kill("SIGKILL");
  await parent.status;
  const input = parent.stdin.getWriter();
  await input.write(new Uint8Array(1));
  assert.equal((await output.read()).value, "stopped\n");
  assert.equal((await output.read()).done, true);
  await input.close();
});
