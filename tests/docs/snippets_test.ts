import assert from "@std/assert";
import { runAdminHere } from "../support/admin.ts";
import { anyDatabase } from "../support/any_database.ts";
import { startSimulatedService } from "../support/service.ts";
import { temporaryDirectory } from "../support/service_files.ts";
import { pagePaths, type Snippet, snippetsOf } from "./snippets.ts";

/**
 * Blocks marked `run` are what readers paste while `deno task demo` serves, with the key that it
 * printed in KEY. Those of a page run in one shell, in order. Here a service with the same simulated
 * vendors runs in this process; the demo as a program is tested by `first_hour_test.ts`.
 */
const root = decodeURIComponent(new URL("../../", import.meta.url).pathname);
const directory = temporaryDirectory("snippets");
const printed = "http://127.0.0.1:8787";

const pages = pagePaths(root);
const curlIsThere = await new Deno.Command("curl", { args: ["--version"], stdout: "null" }).output()
  .then(({ success }) => success, () => false);
const skipped = curlIsThere ? "" : " (skipped: curl is not installed)";

Deno.test({
  name: `what the pages say can be pasted works against simulated vendors${skipped}`,
  ignore: !curlIsThere,
  async fn(test) {
    const DATA_DIR = `${directory}/data`;
    await using database = await anyDatabase();
    await using demo = await startSimulatedService({ ...database.env, DATA_DIR });
    await using operator = await serveAdmin({ DATA_DIR });
    const env = { KEY: demo.key, DATA_DIR, NO_COLOR: "1" };
    await makeDeno("program", `exec "${Deno.execPath()}" "$@"`);
    await makeDeno("here", adminHere(operator.address));
    let ran = 0;
    for (const page of pages) {
      const snippets = snippetsOf(await Deno.readTextFile(root + page)).filter(({ runs }) => runs);
      ran += snippets.length;
      if (snippets.length === 0) continue;
      await test.step(page, async () => {
        // What newcomers type is the program itself.
        const deno = page === "README.md" ? "program" : "here";
        const PATH = `${directory}/${deno}:${Deno.env.get("PATH")}`;
        const script = scriptOf(page, snippets, demo.baseUrl);
        const said = await run("sh", ["-eu", "-c", script], { ...env, PATH });
        if (page === "docs/conformance.md") sameTable(await Deno.readTextFile(root + page), said);
        for (const { text, line } of snippets.filter(({ language }) => language === "ts")) {
          const file = `${directory}/line_${line}.ts`;
          await Deno.writeTextFile(file, text.replaceAll(printed, demo.baseUrl));
          await run(Deno.execPath(), ["run", "-A", `--config=${root}deno.json`, file], env);
        }
      });
    }
    assert.ok(ran >= 15, `${ran} blocks ran`);
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

async function makeDeno(folder: string, script: string): Promise<void> {
  await Deno.mkdir(`${directory}/${folder}`);
  await Deno.writeTextFile(`${directory}/${folder}/deno`, `#!/bin/sh\n${script}\n`, {
    mode: 0o755,
  });
}

/**
 * `deno` for a shell, whose operator's commands run in this process: the pages have some sixty, and
 * to start the program takes a second of the processor. Words and input go by files.
 */
const adminHere = (address: string) => `
[ "$1 $2" = "task admin" ] || exec "${Deno.execPath()}" "$@"
shift 2
asked=$(mktemp -d "${directory}/asked.XXXXXX")
printf '%s\\0' "$@" >"$asked/args"
cat >"$asked/input"
code=$(curl --silent --show-error --data "$asked" ${address})
cat "$asked/stderr" >&2
cat "$asked/stdout"
exit "$code"`;

function serveAdmin(env: Readonly<Record<string, string>>) {
  const server = Deno.serve(
    { port: 0, hostname: "127.0.0.1", onListen() {} },
    async (request) => {
      const asked = await request.text();
      const args = (await Deno.readTextFile(`${asked}/args`)).split("\0").slice(0, -1);
      const input = await Deno.readTextFile(`${asked}/input`);
      const { code, stdout, stderr } = await runAdminHere({ args, env, input });
      await Deno.writeTextFile(`${asked}/stdout`, stdout);
      await Deno.writeTextFile(`${asked}/stderr`, stderr);
      return new Response(String(code));
    },
  );
  const address = `http://127.0.0.1:${server.addr.port}/`;
  return { address, [Symbol.asyncDispose]: () => server.shutdown() };
}

/** A call that is answered with an error fails, and says with what. */
const strictCurl = 'curl() { command curl --silent --show-error --fail-with-body "$@"; }';

function scriptOf(page: string, snippets: readonly Snippet[], baseUrl: string): string {
  const blocks = snippets.filter(({ language }) => language === "sh").map(({ line, text }) =>
    `echo '### ${page}:${line}'\n${inTestDirectory(text.replaceAll(printed, baseUrl))}\necho`
  );
  return [strictCurl, ...blocks].join("\n");
}

/** What another user's run has left in `/tmp` can't be written over, and this run leaves nothing. */
function inTestDirectory(text: string): string {
  return text.replaceAll("/tmp/", `${directory}/`);
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
    stdin: "null",
  })
    .output();
  const said = new TextDecoder().decode(stdout) + new TextDecoder().decode(stderr);
  assert.ok(success, said.replaceAll(/dmt_[0-9A-Za-z]{20,}/g, "dmt_****").slice(-3000));
  return said;
}
