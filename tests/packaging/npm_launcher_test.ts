/** The npm package's launcher, with a script in the runtime's place. */
import assert from "@std/assert";
import { npmLauncher } from "../../packaging/npm.ts";
import { temporaryDirectory } from "../support/service_files.ts";

const directory = temporaryDirectory("npm-launcher");
const nodeIsThere = await new Deno.Command("node", { args: ["--version"], stdout: "null" }).output()
  .then(({ success }) => success, () => false);
const name = (what: string) => `${what}${nodeIsThere ? "" : " (skipped: node is not installed)"}`;

/** Starts the launcher with a runtime that runs this after `trap`, and at most for a minute. */
async function launch(script: string): Promise<Deno.ChildProcess> {
  const runtime = await Deno.makeTempFile({ dir: directory, suffix: ".sh" });
  const waiting = 'turns=0; while [ "$turns" -lt 600 ]; do sleep 0.1; turns=$((turns + 1)); done';
  await Deno.writeTextFile(runtime, `#!/bin/sh\n${script}\necho ready\n${waiting}\n`);
  await Deno.chmod(runtime, 0o755);
  const launcher = `${directory}/demeter.mjs`;
  await Deno.writeTextFile(launcher, npmLauncher());
  return new Deno.Command("node", {
    args: [launcher, "start"],
    env: { DENO: runtime },
    stdout: "piped",
    stderr: "null",
  }).spawn();
}

/** Reads the line that the runtime prints once it can be signalled. */
async function isReady(child: Deno.ChildProcess): Promise<void> {
  const reader = child.stdout.getReader();
  const { value } = await reader.read();
  assert.match(new TextDecoder().decode(value), /^ready\n/);
  await reader.cancel();
}

for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
  Deno.test({
    name: name(`${signal} to npm's launcher alone reaches the program, whose exit code it returns`),
    ignore: !nodeIsThere,
    async fn() {
      const child = await launch(`trap 'exit 7' ${signal.slice(3)}`);
      await isReady(child);
      child.kill(signal);
      assert.equal((await child.status).code, 7);
    },
  });
}

Deno.test({
  name: name("npm's launcher tells which signal has ended the program"),
  ignore: !nodeIsThere,
  async fn() {
    const child = await launch("kill -s KILL $$");
    await child.stdout.cancel();
    assert.equal((await child.status).code, 137);
  },
});
