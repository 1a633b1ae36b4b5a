import assert from "@std/assert";
import { memoryHasRoom } from "./memory_folder.ts";
import { isInMemory } from "./memory_mount.ts";

const mounts = [
  "/dev/vda / ext4 rw 0 0",
  "tmpfs /tmp tmpfs rw 0 0",
  "/dev/vdb /tmp/disk ext4 rw 0 0",
  "tmpfs /tmpfiles tmpfs rw 0 0",
  "/dev/vdc /over ext4 rw 0 0",
  "tmpfs /over tmpfs rw 0 0",
  "",
].join("\n");

Deno.test("a path is in memory where the nearest file system above it is", () => {
  const paths = ["/tmp", "/tmp/a", "/tmpfiles/a", "/over/a"];
  assert.deepEqual(paths.filter((path) => !isInMemory(path, mounts)), []);
  const onDisk = ["/", "/home", "/tmp/disk", "/tmp/disk/a", "/tmpother"];
  assert.deepEqual(onDisk.filter((path) => isInMemory(path, mounts)), []);
  assert.equal(isInMemory("/tmp", ""), false);
});

/** Whether this user may do on this machine what the gate tries. */
const mayMount = Deno.build.os === "linux" && Deno.uid() === 0 && memoryHasRoom() &&
  (await new Deno.Command("unshare", {
    args: ["--mount", "mount", "-t", "tmpfs", "tmpfs", "/mnt"],
    stderr: "null",
  }).output()).success;

/** What a program prints that does as the gate does; killed by `signal` once it says that it runs. */
async function run(body: string, signal?: Deno.Signal): Promise<{ code: number; text: string }> {
  // Where the gate's own files may be in memory already.
  const folder = await Deno.makeTempDir({ dir: "/var/tmp" });
  try {
    const module = new URL("./memory_mount.ts", import.meta.url).href;
    const script = `${folder}/script.ts`;
    await Deno.writeTextFile(
      script,
      `import { isInMemory, runInMemory } from ${JSON.stringify(module)};
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

Deno.test("a run has its temporary files in memory where root may mount, its words and its code", async () => {
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

Deno.test("a signal reaches the run, and it ends when the program that started it is killed", async () => {
  const waits = `Deno.addSignalListener("SIGTERM", () => {
       console.log("ended");
       Deno.exit(3);
     });
     console.log("runs");
     setTimeout(() => {}, 60_000);`;
  assert.deepEqual(await run(waits, "SIGTERM"), { code: 3, text: "runs\nended\n" });
  // Without a mount there is one program, which hears nothing of it.
  const text = mayMount ? "runs\nended\n" : "runs\n";
  assert.deepEqual(await run(waits, "SIGKILL"), { code: 137, text });
});
