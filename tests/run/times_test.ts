import assert from "@std/assert";
import { cpuSecondsOfChildren } from "./cpu_time.ts";
import { costLines } from "./times.ts";

Deno.test("the dearest files come first, folders and all are summed up", () => {
  const costs = [
    { file: "src/base/a_test.ts", cpuSeconds: 1, seconds: 9 },
    { file: "tests/http/relay/b_test.ts", cpuSeconds: 2.25, seconds: 1 },
    { file: "tests/http/c_test.ts", cpuSeconds: 4, seconds: 2 },
  ];
  assert.deepEqual(costLines(costs, 2).split("\n"), [
    "dearest files:",
    "     4.0 CPU s     2.0 s  tests/http/c_test.ts",
    "     2.3 CPU s     1.0 s  tests/http/relay/b_test.ts",
    "by folder:",
    "     6.3 CPU s  tests/http (2)",
    "     1.0 CPU s  src/base (1)",
    "     7.3 CPU s  in all (3)",
  ]);
});

Deno.test("what a running child has taken counts, with what it has started", async () => {
  const script = "bash -c 'while :; do :; done' & echo $!; wait";
  const child = new Deno.Command("bash", { args: ["-c", script], stdout: "piped" }).spawn();
  const reader = child.stdout.pipeThrough(new TextDecoderStream()).getReader();
  const grandchild = parseInt((await reader.read()).value ?? "");
  try {
    const before = cpuSecondsOfChildren();
    while (cpuSecondsOfChildren() < before + 0.1) {
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  } finally {
    Deno.kill(grandchild, "SIGKILL");
    await child.status;
    await reader.cancel();
  }
});
