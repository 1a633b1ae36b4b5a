import assert from "@std/assert";
import { startService } from "../support/process.ts";
import { temporaryDirectory } from "../support/service_files.ts";
import { snippetsOf } from "./snippets.ts";

/** The page's blocks are one program, as a notebook's cells are. */
const page = await Deno.readTextFile("docs/python.md");
const blocks = snippetsOf(page).filter(({ language, runs }) => language === "python" && runs);
const program = blocks.map(({ text, line }) => `print("### line ${line}")\n${text}`).join("\n\n");
const directory = temporaryDirectory("python");

async function run(command: string, args: string[], env: Record<string, string> = {}) {
  const { success, stdout, stderr } = await new Deno.Command(command, { args, env }).output();
  const text = new TextDecoder().decode(stdout);
  assert.ok(success, text + new TextDecoder().decode(stderr));
  return text;
}

const isThere = await new Deno.Command("python3", { args: ["--version"], stdout: "null" }).output()
  .then(({ success }) => success, () => false);
const skipped = isThere ? "" : " (skipped: python3 is not installed)";

Deno.test({
  name: `the page has ten snippets, which Python can read${skipped}`,
  ignore: !isThere,
  async fn() {
    assert.equal(blocks.length, 10);
    await Deno.writeTextFile(`${directory}/page.py`, program);
    await run("python3", [
      "-c",
      "import ast, sys; ast.parse(open(sys.argv[1]).read())",
      `${directory}/page.py`,
    ]);
  },
});

/** `all` makes an environment with the packages from PyPI; a path names a Python that has them. */
const wanted = Deno.env.get("PYTHON");
if (wanted !== undefined) {
  Deno.test("each snippet runs against the demo, with openai and pandas", async () => {
    let python = wanted;
    if (wanted === "all") {
      await run("python3", ["-m", "venv", `${directory}/venv`]);
      python = `${directory}/venv/bin/python`;
      await run(python, ["-m", "pip", "install", "--quiet", "openai", "pandas"]);
    }
    await using demo = await startService({ script: "demo/main.ts", timeoutMs: 180_000 });
    await Deno.writeTextFile(`${directory}/page.py`, program);
    const env = { BASE: demo.baseUrl, KEY: demo.firstKey };
    const text = await run(python, [`${directory}/page.py`], env);
    for (
      const shown of [
        /anthropic\/claude-sonnet-4-6 · .* tokens/,
        /product='.*' quantity=\d+/,
        /404 model_not_found .*\n.*Did you mean/,
        /0\.\d+ USD, call [0-9a-f-]{36}/,
        /^app,model,/m,
        /count +sum/,
      ]
    ) assert.match(text, shown);
    assert.equal(await demo.stop(), 0);
  });
}
