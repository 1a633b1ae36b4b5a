import assert from "@std/assert";
import { commandOf, runProgram, startService } from "./process.ts";
import { isThere } from "./is_there.ts";

/** A fake service: prints a key and addresses, serves `/livez`, and exits with 3 on SIGTERM. */
const standIn = `
const server = Deno.serve(
  { port: Number(Deno.env.get("PORT")), hostname: "127.0.0.1", onListen() {} },
  (req) => new Response("", { status: new URL(req.url).pathname === "/livez" ? 200 : 404 }),
);
console.log("key dmt_" + "a".repeat(50));
console.log("env " + Object.keys(Deno.env.toObject()).sort().join(" "));
console.log("dead http://127.0.0.1:9 live http://127.0.0.1:" + server.addr.port + "/ ready");
Deno.addSignalListener("SIGTERM", () => {
  console.log("draining");
  if (Deno.args[0] !== "deaf") server.shutdown().then(() => Deno.exit(3));
});
`;

async function withScript(text: string, use: (script: string) => Promise<void>): Promise<void> {
  const script = await Deno.makeTempFile({ suffix: ".ts" });
  try {
    await Deno.writeTextFile(script, text);
    await use(script);
  } finally {
    await Deno.remove(script);
  }
}

const strict = { sanitizeOps: true, sanitizeResources: true };

Deno.test(
  "a started service is alive, is told apart by its address, and stops",
  strict,
  () =>
    withScript(standIn, async (script) => {
      await using service = await startService({ script, env: { EXTRA: "1" } });
      assert.notEqual(service.baseUrl, "http://127.0.0.1:9");
      assert.equal(service.firstKey, "dmt_" + "a".repeat(50));
      assert.ok(isThere(service.dataDir));
      assert.equal(await service.stop(), 3);
      assert.match(service.output(), /draining/);
      assert.equal(isThere(service.dataDir), false);
    }),
);

Deno.test("a service has a clean environment", strict, () =>
  withScript(standIn, async (script) => {
    Deno.env.set("VENDOR_B_API_KEY", "of the developer");
    await using service = await startService({ script });
    Deno.env.delete("VENDOR_B_API_KEY");
    const [, names = ""] = await service.printed(/^env (.*)$/m);
    assert.ok(names.includes("DATA_DIR"));
    assert.ok(!names.includes("VENDOR_B_API_KEY"), names);
  }));

Deno.test(
  "a service that is killed, or forgets to stop, leaves nothing behind",
  strict,
  () =>
    withScript(standIn, async (script) => {
      const killed = await startService({ script });
      killed.kill("SIGKILL");
      assert.equal((await killed.status).signal, "SIGKILL");
      const deaf = await startService({ script, args: ["deaf"] });
      await deaf[Symbol.asyncDispose]();
      assert.equal((await deaf.status).signal, "SIGKILL");
      assert.deepEqual([isThere(killed.dataDir), isThere(deaf.dataDir)], [false, false]);
    }),
);

Deno.test(
  "a data directory that the test gave stays, for the next start",
  strict,
  () =>
    withScript(standIn, async (script) => {
      const dataDir = await Deno.makeTempDir();
      await using service = await startService({ script, env: { DATA_DIR: dataDir } });
      await service.stop();
      assert.ok(isThere(dataDir));
      await Deno.remove(dataDir);
    }),
);

Deno.test(
  "a start that fails says why, with keys masked",
  strict,
  () =>
    withScript(`console.error("bad dmt_" + "a".repeat(50)); Deno.exit(4);`, async (script) => {
      await assert.rejects(startService({ script }), /ended before it printed[^]*bad dmt_\*{4}$/);
      const { code, stdout, stderr } = await runProgram({ script });
      assert.deepEqual([code, stdout], [4, ""]);
      assert.match(stderr, /^bad dmt_a/);
    }),
);

Deno.test(
  "a program that doesn't end, or never listens, is given up",
  strict,
  () =>
    withScript("setInterval(() => {}, 1000);", async (script) => {
      await assert.rejects(runProgram({ script, timeoutMs: 300 }), /No end within 300 ms/);
      await assert.rejects(startService({ script, timeoutMs: 300 }), /within \d+/);
    }),
);

Deno.test(
  "a test that is killed leaves no service behind",
  strict,
  () =>
    withScript(standIn, async (service) => {
      const tester = `
      import { startService } from ${JSON.stringify(import.meta.resolve("./process.ts"))};
      const service = await startService({ script: ${JSON.stringify(service)} });
      console.log("pid " + service.pid + " ");
      setInterval(() => {}, 1000);
    `;
      await withScript(tester, async (script) => {
        const child = new Deno.Command(Deno.execPath(), {
          args: ["run", "-A", "--no-check", `--config=${configPath}`, script],
          stdout: "piped",
        }).spawn();
        let said = "";
        for await (const text of child.stdout.pipeThrough(new TextDecoderStream())) {
          said += text;
          if (/pid \d+ /.test(said)) break;
        }
        const pid = Number(/pid (\d+) /.exec(said)?.[1]);
        assert.ok(isThere(`/proc/${pid}`));
        child.kill("SIGKILL");
        await child.status;
        const untilMs = Date.now() + 60_000;
        while (isThere(`/proc/${pid}`) && Date.now() < untilMs) {
          await new Promise((resolve) => setTimeout(resolve, 20));
        }
        assert.equal(isThere(`/proc/${pid}`), false, "it was left behind");
      });
    }),
);

const configPath = new URL("../../deno.json", import.meta.url).pathname;

Deno.test("the service's programs are the bundle's where there is one, with the permissions of their tasks", () => {
  const ofBundle = commandOf({ script: "admin.ts" }, "/bundle");
  const ofSource = commandOf({ script: "admin.ts" }, undefined);
  assert.deepEqual(ofBundle.args.slice(-3), [
    "--config=/bundle/deno.json",
    "/bundle/program.js",
    "admin",
  ]);
  assert.match(ofSource.args.at(-1)!, /\/admin\.ts$/);
  assert.ok(ofSource.args.includes("--deny-run"));
  assert.deepEqual(ofBundle.args.slice(0, -3), ofSource.args.slice(0, -2), "permissions");
  assert.deepEqual(ofBundle.env, { DEMETER_COMMAND: "deno task" }, "it says what the source says");
  assert.equal(commandOf({}, "/bundle").args.at(-1), "start");
  assert.deepEqual(commandOf({ env: { WORKERS: "2" } }, "/bundle"), commandOf({}, "/bundle"));
  assert.equal(commandOf({ script: "demo/main.ts" }, "/bundle").args.at(-1), "demo");
  for (
    const options of [
      { fromSource: true },
      { script: "tests/support/greedy_grades.ts" },
    ]
  ) {
    assert.match(commandOf(options, "/bundle").args.at(-1)!, /\.ts$/, JSON.stringify(options));
  }
});
