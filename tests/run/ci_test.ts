/** Runs `.ci/run` with a fake `npx`: whatever the command does, the last line has the totals. */
import assert from "@std/assert";
import { Processes } from "./processes.ts";

const root = decodeURIComponent(new URL("../..", import.meta.url).pathname);

async function ci(npx: string): Promise<{ code: number; output: string; last: string }> {
  const bin = await Deno.makeTempDir({ prefix: "ci-" });
  try {
    await Deno.writeTextFile(`${bin}/npx`, `#!/bin/bash\n${npx}\n`, { mode: 0o755 });
    const env = { PATH: `${bin}:/usr/bin:/bin`, HOME: bin };
    const options = { cwd: bin, env, silenceMs: 20_000 };
    const ended = await new Processes().run("bash", [`${root}.ci/run`], options);
    const last = ended.output.trimEnd().split("\n").at(-1) ?? "";
    return { code: ended.code, output: ended.output, last };
  } finally {
    await Deno.remove(bin, { recursive: true });
  }
}

Deno.test("CI runs the README's command in the repository's root, as CI", async () => {
  const { code, output, last } = await ci('echo "$* in $PWD CI=$CI"; echo "5 passed, 0 failed"');
  assert.match(output, /^--yes deno@2\.9\.6 task test in .* CI=true$/m);
  assert.ok(output.includes(` in ${root.replace(/\/$/, "")} `), output);
  assert.deepEqual([code, last], [0, "5 passed, 0 failed"]);
});

Deno.test("CI's last line is the totals and its exit code the command's", async () => {
  const failed = await ci('echo "5 passed, 1 failed"; exit 1');
  assert.deepEqual([failed.code, failed.last], [1, "5 passed, 1 failed"]);
  const noisy = await ci('echo "5 passed, 0 failed, 1 skipped"; echo "npm notice" >&2');
  assert.deepEqual([noisy.code, noisy.last], [0, "5 passed, 0 failed, 1 skipped"]);
});

Deno.test("a command that never counts is one failure", async () => {
  const broken = await ci("echo 'no network' >&2; exit 7");
  assert.deepEqual([broken.code, broken.last], [7, "0 passed, 1 failed"]);
  const silent = await ci("exit 0");
  assert.deepEqual([silent.code, silent.last], [1, "0 passed, 1 failed"]);
});
