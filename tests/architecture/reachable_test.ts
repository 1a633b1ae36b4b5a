import assert from "@std/assert";
import { checkReachable } from "./reachable.ts";

function findings(files: Record<string, string>): string[] {
  return checkReachable(new Map(Object.entries(files))).map((each) =>
    `${each.path}: ${each.message}`
  );
}

Deno.test("files that programs, workers, tasks and tests reach are fine", () => {
  assert.deepEqual(
    findings({
      "deno.json":
        '{"tasks":{"bench":"deno run -A ./bench/all.ts","x":{"command":"deno run tool.ts"}}}',
      "main.ts": 'import "./src/app.ts";',
      "src/app.ts":
        'export * from "./a.ts"; import type { B } from "./b.ts"; await import("./c.ts");',
      "src/a.ts": 'new Worker(new URL("./worker.ts", import.meta.url));',
      "src/b.ts": "",
      "src/c.ts": 'import "./app.ts";',
      "src/worker.ts": "",
      "src/b_test.ts": 'import "../tests/support/help.ts";',
      "tests/support/help.ts": "",
      "bench/all.ts": "",
      "tool.ts": "",
    }),
    [],
  );
});

Deno.test("a file that nobody imports is found", () => {
  assert.deepEqual(findings({ "main.ts": "", "src/lost.ts": 'import "./main.ts";' }), [
    "src/lost.ts: nobody imports it: use it or delete it",
  ]);
  assert.match(findings({ "tests/support/lost.ts": "" })[0] ?? "", /nobody imports it/);
});

Deno.test("a file of the product that only tests import is found", () => {
  const found = findings({ "main.ts": "", "src/a.ts": "", "src/a_test.ts": 'import "./a.ts";' });
  assert.deepEqual(found, ["src/a.ts: only tests import it: use it or move it to tests/support/"]);
});

Deno.test("a script for the browser is live when a live file serves it by name", () => {
  const tree = { "main.ts": 'serve("page.js");', "src/x/page.js": "", "src/x/lost.js": "" };
  assert.deepEqual(findings(tree), ["src/x/lost.js: nobody imports it: use it or delete it"]);
});
