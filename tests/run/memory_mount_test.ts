import assert from "@std/assert";
import { isInMemory, memoryHasRoom } from "./memory_folder.ts";

/** Whether this user may mount on this machine, as the gate tries to. */
const mayMount = Deno.build.os === "linux" && Deno.uid() === 0 && memoryHasRoom() &&
  (await new Deno.Command("unshare", {
    args: ["--mount", "mount", "-t", "tmpfs", "tmpfs", "/mnt"],
    stderr: "null",
  }).output()).success;

/** Runs a program that starts like the gate, and sends it `signal` once it has printed "runs". */
async function run(body: string, signal?: Deno.Signal): Promise<{ code: number; text: string }> {
  // Not among the gate's own files, which may be in memory already.
  const folder = await Deno.makeTempDir({ dir: "/var/tmp" });
  try {
    const moduleOf = (name: string) => JSON.stringify(new URL(name, import.meta.url).href);
    const script = `${folder}/script.ts`;
    await Deno.writeTextFile(
      script,
      `import { isInMemory } from ${moduleOf("./memory_folder.ts")};
       import { runInMemory } from ${moduleOf("./memory_mount.ts")};
       const code = await runInMemory(new URL(import.meta.url), Deno.args);
       if (code !== undefined) Deno.exit(code);
       ${body}`,
    );
    const child = new Deno.Command(Deno.execPath(), {
      args: ["run", "-A", "--no-config", script, "one", "two words"],
      env: { TMPDIR: folder },
      ...{ stdin: "null", stdout: "piped", stderr: "inherit" },
    }).spawn();
    let text = "";
    for await (const part of child.stdout.pipeThrough(new TextDecoderStream())) {
      text += part;
      if (signal && part.includes("runs")) child.kill(signal);
    }
    return { code: (await child.status).code, text };
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

Deno.test("temporary files are in memory where root may mount; arguments and exit code are passed on", async () => {
  const { code, text } = await run(
    `const folder = Deno.makeTempDirSync();
     console.log(JSON.stringify([isInMemory(folder), folder, Deno.args]));
     Deno.exit(7);`,
  );
  assert.equal(code, 7);
  const [inMemory, folder, args] = JSON.parse(text);
  assert.deepEqual(args, ["one", "two words"]);
  assert.equal(inMemory, mayMount || isInMemory("/var/tmp"));
  assert.throws(() => Deno.statSync(folder), Deno.errors.NotFound);
  assert.equal(Deno.readTextFileSync("/proc/mounts").includes(folder.split("/")[3]!), false);
});

Deno.test("signals are passed on, and the second process ends when the first one is killed", async () => {
  const waits = `Deno.addSignalListener("SIGTERM", () => {
       console.log("ended");
       Deno.exit(3);
     });
     console.log("runs");
     setTimeout(() => {}, 60_000);`;
  assert.deepEqual(await run(waits, "SIGTERM"), { code: 3, text: "runs\nended\n" });
  // Without a mount there is only the first process.
  const text = mayMount ? "runs\nended\n" : "runs\n";
  assert.deepEqual(await run(waits, "SIGKILL"), { code: 137, text });
});
