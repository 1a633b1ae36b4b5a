import assert from "@std/assert";
import { createRegistry } from "../vendors/registry.ts";
import { createRealModels } from "./real_models.ts";
import { openModelsFile } from "./models_file.ts";

const models = createRealModels({
  registry: createRegistry({}, []),
  prices: { rows: () => [] },
});

async function withFile(
  text: string,
  test: (
    path: string,
    open: () => ReturnType<typeof openModelsFile>,
    lines: string[],
  ) => Promise<void>,
): Promise<void> {
  const path = await Deno.makeTempFile({ suffix: ".json" });
  const lines: string[] = [];
  const log = {
    info: (line: string) => void lines.push(line),
    warn: (line: string, fields = {}) => void lines.push(`${line}: ${JSON.stringify(fields)}`),
  };
  try {
    await Deno.writeTextFile(path, text);
    await test(path, () => openModelsFile({ path, models, log }), lines);
  } finally {
    await Deno.remove(path).catch(() => {});
  }
}

const file = (target: string) => JSON.stringify({ fast: { targets: [target] } });

Deno.test("a changed file takes effect at the next check; a wrong or missing one changes nothing and is logged once", () =>
  withFile(file("openai/first"), async (path, open, lines) => {
    const opened = open();
    const target = () => {
      const found = opened.find(1, "fast");
      return typeof found === "object" ? found.targets[0].target.id : found;
    };
    assert.equal(target(), "vendor-b/first");
    await opened.refresh();
    assert.deepEqual(lines, [], "nothing is said of a file that is as it was");
    await Deno.writeTextFile(path, file("openai/second"));
    await opened.refresh();
    assert.equal(target(), "vendor-b/second");
    assert.deepEqual(lines.splice(0), ["MODELS_FILE was reloaded"]);
    const lastText = '{"a/b": {"targets": ["openai/x"]}}';
    for (const wrong of ["{", file("nobody/x"), lastText]) {
      await Deno.writeTextFile(path, wrong);
      await opened.refresh();
      await opened.refresh();
      assert.equal(target(), "vendor-b/second");
      assert.equal(lines.length, 1, lines.join("\n"));
      assert.match(
        lines.splice(0)[0]!,
        /^MODELS_FILE is invalid, so nothing was changed: .*"reason":/,
      );
    }
    await Deno.remove(path);
    await opened.refresh();
    await opened.refresh();
    assert.equal(target(), "vendor-b/second");
    assert.equal(lines.splice(0).length, 1);
    // Back with the same text, and gone again.
    await Deno.writeTextFile(path, lastText);
    await opened.refresh();
    await Deno.remove(path);
    await opened.refresh();
    assert.equal(lines.splice(0).length, 1, "each time that it is missing is said");
    await Deno.writeTextFile(path, "{}");
    await opened.refresh();
    assert.equal(target(), undefined);
    assert.deepEqual([opened.all, opened.list(1)], [[], []]);
    await Deno.remove(path);
    await opened.refresh();
    assert.equal(lines.splice(0).length, 2, "reloaded, and missing once more");
  }));

Deno.test("a wrong file can't be opened; without a path there are none", () =>
  withFile('{"fast": {"targets": []}}', async (_path, open, lines) => {
    assert.throws(open, /^Error: fast\.targets: /);
    const log = { info() {}, warn: (line: string) => void lines.push(line) };
    const none = openModelsFile({ path: undefined, models, log });
    assert.deepEqual([none.all, none.find(1, "fast")], [[], undefined]);
    await none.refresh();
    assert.deepEqual(lines, []);
  }));
