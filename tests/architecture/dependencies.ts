import { importsOf } from "./imports.ts";
import { codeFiles, type Finding, type Tree } from "./tree.ts";

/**
 * Every package of the import map has one exact version, and somebody imports it; every package
 * that is imported comes through the import map.
 */
export function checkDependencies(tree: Tree): Finding[] {
  const settings: Settings = JSON.parse(tree.get("deno.json") ?? "{}");
  const map = Object.entries(settings.imports ?? {});
  const used = new Set<string>();
  const findings: Finding[] = [];
  const jsx = settings.compilerOptions?.jsxImportSource;
  if (jsx !== undefined && codeFiles(tree).some((path) => path.endsWith("x"))) used.add(jsx);
  for (const path of codeFiles(tree)) {
    for (const { specifier, line } of importsOf(path, tree.get(path) ?? "")) {
      used.add(specifier);
      if (!/^(npm|jsr|https?):/.test(specifier)) continue;
      findings.push({ path, line, message: `imports ${specifier}; name it in deno.json instead` });
    }
  }
  for (const [name, target] of map) {
    const problem = pinProblem(target) ?? (isUsed(name, used) ? null : "nobody imports it");
    if (problem !== null) {
      findings.push({ path: "deno.json", line: 0, message: `import '${name}': ${problem}` });
    }
  }
  return [...findings, ...splitVersions(map)];
}

interface Settings {
  readonly imports?: Readonly<Record<string, string>>;
  readonly compilerOptions?: { readonly jsxImportSource?: string };
}

const pinned = /^(?:npm|jsr):\/?((?:@[^/@]+\/)?[^/@]+)@(\d+\.\d+\.\d+(?:-[\w.]+)?)(?:\/.*)?$/;

/** What comes with the runtime or lies in this tree has no version. */
const unversioned = /^(node:|\.\.?\/)/;

function pinProblem(target: string): string | null {
  if (unversioned.test(target) || pinned.test(target)) return null;
  return `'${target}' names no exact version`;
}

/** `hono` and `hono/` are one package: using either uses both. */
function isUsed(name: string, used: ReadonlySet<string>): boolean {
  const bare = name.replace(/\/$/, "");
  return [...used].some((each) => each === bare || each.startsWith(`${bare}/`));
}

/** One version a package, but for an older major that says so in its name, such as `openai-4`. */
function splitVersions(map: readonly (readonly [string, string])[]): Finding[] {
  const versions = new Map<string, string>();
  return map.flatMap(([name, target]) => {
    const [, packageName = "", version = ""] = pinned.exec(target) ?? [];
    if (name === `${packageName}-${version.split(".")[0]}`) return [];
    const first = versions.get(packageName) ?? version;
    versions.set(packageName, first);
    if (first === version) return [];
    const message = `import '${name}': ${packageName} is pinned to ${first} and ${version}`;
    return [{ path: "deno.json", line: 0, message }];
  });
}
