/** A standard output that nobody reads stops no call (interface.md §9). */
import assert from "@std/assert";
import { ensureMigrated } from "../support/new_database.ts";
import { commandOf } from "../support/process.ts";
import { within } from "../support/within.ts";

const root = new URL("../..", import.meta.url).pathname;
/** More than a pipe and the buffer take; ten thousand in the long round. */
const calls = Number(Deno.env.get("UNREAD_CALLS") ?? 4000);

Deno.test("thousands of calls go on while nobody reads the log, and the lost lines are counted", async () => {
  const dataDir = await Deno.makeTempDir({ prefix: "unread-output-" });
  await ensureMigrated(dataDir);
  const start = commandOf({}, Deno.env.get("TEST_BUNDLE"));
  const child = new Deno.Command(Deno.execPath(), {
    args: start.args,
    cwd: root,
    env: { ...start.env, PORT: "0", DATA_DIR: dataDir, LOG_FORMAT: "json" },
    stdin: "null",
    stdout: "piped",
    stderr: "null",
  }).spawn();
  const output = child.stdout.getReader();
  const decoder = new TextDecoder();
  let text = "";
  const read = async (pattern: RegExp) => {
    for (;;) {
      const found = pattern.exec(text);
      if (found) return found;
      const { value, done } = await output.read();
      if (done) throw new Error(`the output ended without ${pattern}`);
      text += decoder.decode(value, { stream: true });
    }
  };
  try {
    const [key] = await within(60_000, read(/dmt_[0-9A-Za-z]{49}/));
    const [, baseUrl] = /listens on ([^\s"]+)/.exec(text)!;
    const headers = { authorization: `Bearer ${key}` };
    const ask = async (path: string) => {
      const answer = await within(10_000, fetch(baseUrl + path, { headers }));
      return { status: answer.status, body: await answer.text() };
    };
    for (let done = 0; done < calls; done += 20) {
      const answers = await Promise.all(Array.from({ length: 20 }, () => ask("/api/v1/status")));
      assert.ok(answers.every(({ status }) => status === 200), `after ${done} calls`);
    }
    const { body } = await ask("/metrics");
    const dropped = Number(/^gateway_log_lines_dropped_total (\d+)$/m.exec(body)?.[1]);
    assert.ok(dropped > 0, `${dropped} lines dropped`);
    const [, told] = await within(
      20_000,
      read(/"event":"log\.lines_dropped",[^\n]*"lines":(\d+)/),
    );
    assert.ok(Number(told) >= dropped);
    child.kill("SIGTERM");
    // Nobody reads the rest: the end doesn't wait for it either.
    const { code } = await within(30_000, child.status);
    assert.equal(code, 0);
  } finally {
    try {
      child.kill("SIGKILL");
    } catch {
      // It has ended.
    }
    await output.cancel();
    await child.status;
    await Deno.remove(dataDir, { recursive: true });
  }
});
