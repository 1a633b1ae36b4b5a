import assert from "@std/assert";
import { startService } from "../support/process.ts";
import { temporaryDirectory } from "../support/service_files.ts";
import { pagePaths, type Snippet, snippetsOf } from "./snippets.ts";

/**
 * Blocks marked `run` are what readers paste while `deno task demo` serves, with the key that it
 * printed in KEY. Those of a page run in one shell, in order.
 */
const root = decodeURIComponent(new URL("../../", import.meta.url).pathname);
const directory = temporaryDirectory("snippets");
const printed = "http://127.0.0.1:8787";

const pages = pagePaths(root);
const curlIsThere = await new Deno.Command("curl", { args: ["--version"], stdout: "null" }).output()
  .then(({ success }) => success, () => false);
const skipped = curlIsThere ? "" : " (skipped: curl is not installed)";

Deno.test({
  name: `what the pages say can be pasted works against the demo${skipped}`,
  ignore: !curlIsThere,
  async fn(test) {
    await using demo = await startService({ script: "demo/main.ts", timeoutMs: 180_000 });
    await Deno.writeTextFile(`${directory}/deno`, `#!/bin/sh\nexec "${Deno.execPath()}" "$@"\n`, {
      mode: 0o755,
    });
    const env = {
      KEY: demo.firstKey,
      DATA_DIR: `${demo.dataDir}/demo`,
      PATH: `${directory}:${Deno.env.get("PATH")}`,
      NO_COLOR: "1",
    };
    let ran = 0;
    for (const page of pages) {
      const snippets = snippetsOf(await Deno.readTextFile(root + page)).filter(({ runs }) => runs);
      ran += snippets.length;
      if (snippets.length === 0) continue;
      await test.step(page, async () => {
        const said = await run("sh", ["-eu", "-c", scriptOf(page, snippets, demo.baseUrl)], env);
        if (page === "docs/conformance.md") sameTable(await Deno.readTextFile(root + page), said);
        for (const { text, line } of snippets.filter(({ language }) => language === "ts")) {
          const file = `${directory}/line_${line}.ts`;
          await Deno.writeTextFile(file, text.replaceAll(printed, demo.baseUrl));
          await run("deno", ["run", "-A", `--config=${root}deno.json`, file], env);
        }
      });
    }
    assert.ok(ran >= 15, `${ran} blocks ran`);
    assert.equal(await demo.stop(), 0);
  },
});

Deno.test("each page of a task has commands, and stands in the list of tasks", () => {
  const list = Deno.readTextFileSync(`${root}docs/tasks/README.md`);
  const tasks = pages.filter((page) => /^docs\/tasks\/[a-z]/.test(page));
  assert.ok(tasks.length >= 10);
  for (const page of tasks) {
    assert.ok(list.includes(`(${page.split("/").at(-1)})`), page);
    const blocks = snippetsOf(Deno.readTextFileSync(root + page));
    assert.ok(blocks.some(({ runs }) => runs) || byOperator.has(page), `${page} runs nothing`);
  }
});

/** Pages whose blocks stop and start the service: `operator_test.ts` runs them. */
const byOperator = new Set(["docs/tasks/back-up-and-restore.md", "docs/tasks/upgrade.md"]);

Deno.test("every block of shell commands runs, or is marked as one that can't here", () => {
  const languages = new Set<string>();
  for (const page of pages) {
    for (const snippet of snippetsOf(Deno.readTextFileSync(root + page))) {
      const { language, runs, isOfAgent, line } = snippet;
      languages.add(language);
      assert.ok(
        language !== "sh" || runs || isOfAgent,
        `${page}:${line}: mark it \`run\`, or as \`console\``,
      );
    }
  }
  assert.ok(languages.has("sh"));
});

/** A call that is answered with an error fails, and says with what. */
const strictCurl = 'curl() { command curl --silent --show-error --fail-with-body "$@"; }';

function scriptOf(page: string, snippets: readonly Snippet[], baseUrl: string): string {
  const blocks = snippets.filter(({ language }) => language === "sh").map(({ line, text }) =>
    `echo '### ${page}:${line}'\n${text.replaceAll(printed, baseUrl)}\necho`
  );
  return [strictCurl, ...blocks].join("\n");
}

/** What the page says the command prints is what it prints. */
function sameTable(page: string, said: string): void {
  const rows = (text: string) =>
    text.split("\n").filter((line) => /^\| (?:vendor-|chat|responses|messages|generate)/.test(line))
      .map((line) => line.replace(/ +/g, " "));
  assert.deepEqual(rows(page), rows(said));
  assert.equal(rows(page).length, 28 + 4);
}

async function run(
  program: string,
  args: readonly string[],
  env: Readonly<Record<string, string>>,
): Promise<string> {
  const { success, stdout, stderr } = await new Deno.Command(program, {
    args: [...args],
    cwd: root,
    env,
  })
    .output();
  const said = new TextDecoder().decode(stdout) + new TextDecoder().decode(stderr);
  assert.ok(success, said.replaceAll(/dmt_[0-9A-Za-z]{20,}/g, "dmt_****").slice(-3000));
  return said;
}
