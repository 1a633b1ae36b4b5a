import assert from "@std/assert";
import {
  programFiles,
  programFolders,
  programModules,
  runEnvironment,
  runFlags,
  sourceFlags,
  startFlags,
} from "./contents.ts";

const root = new URL("../", import.meta.url);
const settings = JSON.parse(await Deno.readTextFile(new URL("deno.json", root)));

Deno.test("everything that the program reads or starts by its path is packaged", async () => {
  const calls: [kind: string, path: string][] = [];
  for await (const text of sources(new URL("src/", root))) {
    for (
      const [, kind = "", path = ""] of text.matchAll(/\bprogram(File|Module)\(["`]([^"`$]*)/g)
    ) {
      calls.push([kind, path]);
    }
  }
  assert.ok(calls.length >= 7, `${calls.length} calls found`);
  for (const [kind, path] of calls) {
    const packaged = kind === "Module"
      ? programModules.includes(path)
      : programFolders.some((folder) => `${path}/`.startsWith(`${folder}/`)) ||
        programFiles.some((file) => file.startsWith(path));
    assert.ok(packaged, `packaging/contents.ts lacks ${path}`);
  }
});

Deno.test("what is packaged is there", async () => {
  for (const path of [...programFolders, ...programFiles, ...programModules]) {
    await Deno.stat(new URL(path, root));
  }
});

Deno.test("the tasks run the program with what is packaged as its flags", () => {
  for (
    const [task, script] of [["start", "main.ts"], ["demo", "demo/main.ts"], ["admin", "admin.ts"]]
  ) {
    const flags = [...(task === "start" ? startFlags : runFlags), ...sourceFlags].join(" ");
    const command = `${runEnvironment} deno run ${flags} ${script}`;
    assert.equal(settings.tasks[task!], command);
  }
});

async function* sources(folder: URL): AsyncGenerator<string> {
  for await (const entry of Deno.readDir(folder)) {
    if (entry.isDirectory) yield* sources(new URL(`${entry.name}/`, folder));
    if (/(?<!_test)\.tsx?$/.test(entry.name)) {
      yield await Deno.readTextFile(new URL(entry.name, folder));
    }
  }
}
