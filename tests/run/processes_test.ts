import assert from "@std/assert";
import { Processes } from "./processes.ts";

const options = { cwd: "/", env: { PATH: "/usr/bin:/bin", A: "1" }, silenceMs: 20_000 };

/** Longer than a busy machine takes to start a shell. */
const silenceMs = 3_000;

function run(script: string, silenceMs = options.silenceMs) {
  return new Processes().run("bash", ["-c", script], { ...options, silenceMs });
}

function isAlive(pid: number): boolean {
  try {
    // A zombie counts as killed: its parent just hasn't waited for it yet.
    return !/^State:\s+[ZX]/m.test(Deno.readTextFileSync(`/proc/${pid}/status`));
  } catch {
    return false;
  }
}

/** Waits for a kill to take effect: the kernel ends a process only when it runs it next. */
async function isSoonDead(pid: number): Promise<boolean> {
  for (let tries = 0; tries < 500; tries += 1) {
    if (!isAlive(pid)) return true;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  return false;
}

Deno.test("output of both streams, exit code and environment are the child's", async () => {
  const ended = await run('echo out; echo err >&2; echo "A=$A HOME=$HOME"; read || exit 3');
  assert.deepEqual([ended.ok, ended.code], [false, 3]);
  assert.deepEqual(ended.output.trim().split("\n").sort(), ["A=1 HOME=", "err", "out"]);
});

Deno.test("a child's time of the processor is its own and that of whom it waited for", async () => {
  // In a separate process: the kernel counts per process, and in this one other tests run too.
  const module = JSON.stringify(new URL("./processes.ts", import.meta.url).href);
  const busy = "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done";
  const scripts = JSON.stringify(["sleep 0.1", `bash -c '${busy}'; true`]);
  const { stdout } = await new Deno.Command(Deno.execPath(), {
    args: [
      ...["eval", "--no-config", "--no-check"],
      `import { Processes } from ${module};
       const processes = new Processes();
       const ended = await Promise.all(
         ${scripts}.map((script) =>
           processes.run("bash", ["-c", script], ${JSON.stringify(options)})),
       );
       console.log(JSON.stringify(ended.map(({ cpuSeconds }) => cpuSeconds)));`,
    ],
    stderr: "inherit",
  }).output();
  const [idle, outer] = JSON.parse(new TextDecoder().decode(stdout));
  assert.ok(outer >= 0.05, `${outer}`);
  assert.ok(idle < outer, `${idle} of ${outer}`);
});

Deno.test("what a child leaves behind is killed with it", async () => {
  const ended = await run("sleep 600 & echo $!");
  assert.equal(ended.ok, true);
  assert.equal(await isSoonDead(Number(ended.output)), true);
});

Deno.test("a child that hangs is ended, its children too, and that is no success", async () => {
  const ended = await run("trap '' TERM; sleep 600 & echo $!; wait", silenceMs);
  assert.deepEqual([ended.ok, ended.timedOut], [false, true]);
  assert.equal(await isSoonDead(parseInt(ended.output)), true);
});

Deno.test("a child that is slow but talks is left alone, and a hung one has last words", async () => {
  const [slow, hung] = await Promise.all([
    run("for i in 1 2 3 4 5 6 7; do echo $i; sleep 0.5; done", silenceMs),
    run("trap 'echo pending: x; exit 1' INT; sleep 600 & wait", silenceMs),
  ]);
  assert.deepEqual([slow.ok, slow.timedOut], [true, false]);
  assert.match(hung.output, /pending: x\n\nEnded after 3 s of silence/);
});

Deno.test("a daemon that holds the output open does not hold the run", async () => {
  // The daemon lets the process that started it end once it has left the group.
  const daemon = 'setsid sh -c "echo \\$\\$; kill -USR1 $$; exec sleep 600"';
  const ended = await run(`trap "exit 0" USR1; ${daemon} & wait`);
  const pid = parseInt(ended.output);
  assert.deepEqual([ended.ok, isAlive(pid)], [true, true]);
  Deno.kill(pid, "SIGKILL");
});

Deno.test("a run that is told to stop ends its children and starts no more", async () => {
  const processes = new Processes();
  const running = processes.run("sleep", ["600"], options);
  processes.stop();
  assert.equal((await running).ok, false);
  const next = await processes.run("echo", [], options);
  assert.match(next.output, /the run was stopped/);
});

Deno.test("a program that isn't there is code 127 and says so", async () => {
  const ended = await new Processes().run("/no/such/program", [], options);
  assert.deepEqual([ended.ok, ended.code], [false, 127]);
  assert.match(ended.output, /Can't start \/no\/such\/program/);
});
