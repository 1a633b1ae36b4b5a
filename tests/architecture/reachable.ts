import { importsOf } from "./imports.ts";
import { codeFiles, type Finding, isTest, type Tree } from "./tree.ts";

/**
 * Files that nobody imports, from the programs that people start. A file of the product that only
 * tests reach is dead too, so product files are looked for from the product's entries alone.
 */
export function checkReachable(tree: Tree): Finding[] {
  const files = codeFiles(tree);
  const started = [...productEntries, ...taskFiles(tree)];
  const live = withScripts(tree, files, reach(tree, started));
  const tests = files.filter((path) => /_test\.tsx?$/.test(path));
  const tested = reach(tree, [...started, ...tests, ...programs(tree, files)]);
  return files.flatMap((path) => {
    if (isTest(path) ? tested.has(path) : live.has(path)) return [];
    const message = tested.has(path)
      ? "only tests import it: use it or move it to tests/support/"
      : "nobody imports it: use it or delete it";
    return [{ path, line: 0, message }];
  });
}

const productEntries = ["main.ts", "admin.ts", "demo/main.ts", "program.ts"];

/** Scripts for the browser: nobody imports them, but a file that is live serves them by name. */
function withScripts(
  tree: Tree,
  files: readonly string[],
  live: ReadonlySet<string>,
): ReadonlySet<string> {
  const served = files.filter((path) => {
    if (!/^src\/.*\.js$/.test(path)) return false;
    const name = `"${path.split("/").at(-1)!}"`;
    return [...live].some((other) => tree.get(other)?.includes(name));
  });
  return new Set([...live, ...served]);
}

/** Programs that a test or bench starts as processes of their own: named in some other file's text. */
function programs(tree: Tree, files: readonly string[]): string[] {
  return files.filter((path) => {
    if (!/^(tests|bench)\/(.*\/)?programs\//.test(path)) return false;
    const name = path.split("/").at(-1)!;
    return files.some((other) => other !== path && tree.get(other)?.includes(name));
  });
}

/** Files that the tasks of `deno.json` run, and those that it exports. */
function taskFiles(tree: Tree): string[] {
  const settings: { tasks?: Record<string, unknown>; exports?: unknown } = JSON.parse(
    tree.get("deno.json") ?? "{}",
  );
  const commands = [...Object.values(settings.tasks ?? {}), settings.exports ?? {}]
    .map((task) => JSON.stringify(task));
  return commands.flatMap((command) => command.match(/[\w./-]+\.tsx?\b/g) ?? [])
    .map((path) => path.replace(/^\.\//, ""));
}

function reach(tree: Tree, entries: readonly string[]): ReadonlySet<string> {
  const seen = new Set<string>();
  const open = [...entries];
  for (let path = open.pop(); path !== undefined; path = open.pop()) {
    const text = tree.get(path);
    if (text === undefined || seen.has(path)) continue;
    seen.add(path);
    for (const each of importsOf(path, text)) {
      if (each.path !== null) open.push(each.path);
    }
  }
  return seen;
}
