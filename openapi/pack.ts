import ts from "typescript";
import manifest from "../deno.json" with { type: "json" };
import { uncheckedLine } from "./client_files.ts";

/**
 * `deno task sdk:pack [folder]`: makes the client's npm tarball in `dist/` or in the folder. Each
 * source file is compiled to a file of its own, so that bundlers leave out what isn't used.
 */
async function main(args: readonly string[]): Promise<number> {
  const root = decodeURIComponent(new URL("..", import.meta.url).pathname);
  if (args.length > 1 || args[0]?.startsWith("-")) {
    console.error("Usage: deno task sdk:pack [folder]");
    return 2;
  }
  const target = args[0] ?? `${root}dist`;
  const work = await Deno.makeTempDir({ prefix: "gateway-sdk-" });
  try {
    copySources(`${root}openapi/client`, `${work}/src`);
    const problems = compile(`${work}/src`, `${work}/package`);
    if (problems !== "") {
      console.error(problems);
      return 1;
    }
    for (const path of filesIn(`${work}/package`)) mendDeclaration(path);
    Deno.writeTextFileSync(`${work}/package/package.json`, JSON.stringify(packageJson, null, 2));
    Deno.copyFileSync(`${root}LICENSE`, `${work}/package/LICENSE`);
    Deno.copyFileSync(`${root}openapi/client/README.md`, `${work}/package/README.md`);
    Deno.mkdirSync(target, { recursive: true });
    return await pack(`${work}/package`, target);
  } finally {
    await Deno.remove(work, { recursive: true });
  }
}

const packageJson = {
  name: "@demeter-gateway/client",
  version: manifest.version,
  description:
    "Client of the Demeter LLM gateway: typed calls, streams, retries, errors and exports",
  license: manifest.license,
  type: "module",
  sideEffects: false,
  exports: {
    ".": { types: "./mod.d.ts", default: "./mod.js" },
    "./package.json": "./package.json",
  },
  types: "./mod.d.ts",
  engines: { node: ">=20" },
} as const;

/** Copies the sources without tests, and without `uncheckedLine`: here every file is checked. */
function copySources(from: string, to: string): void {
  Deno.mkdirSync(to, { recursive: true });
  for (const { name, isDirectory } of Deno.readDirSync(from)) {
    if (isDirectory) copySources(`${from}/${name}`, `${to}/${name}`);
    if (!name.endsWith(".ts") || name.endsWith("_test.ts")) continue;
    const text = Deno.readTextFileSync(`${from}/${name}`);
    Deno.writeTextFileSync(`${to}/${name}`, text.replace(uncheckedLine, ""));
  }
}

/** Writes JavaScript and types. Returns the errors that TypeScript's `strict` finds. */
function compile(from: string, to: string): string {
  const program = ts.createProgram([`${from}/mod.ts`], {
    strict: true,
    skipDefaultLibCheck: true,
    target: ts.ScriptTarget.ES2022,
    lib: ["lib.es2023.d.ts", "lib.dom.d.ts", "lib.dom.iterable.d.ts", "lib.dom.asynciterable.d.ts"],
    types: [],
    module: ts.ModuleKind.ESNext,
    moduleResolution: ts.ModuleResolutionKind.Bundler,
    rewriteRelativeImportExtensions: true,
    verbatimModuleSyntax: true,
    declaration: true,
    rootDir: from,
    outDir: to,
    newLine: ts.NewLineKind.LineFeed,
  });
  const found = [...ts.getPreEmitDiagnostics(program), ...program.emit().diagnostics];
  return ts.formatDiagnostics(found, {
    getCurrentDirectory: () => from,
    getCanonicalFileName: (name) => name,
    getNewLine: () => "\n",
  });
}

/** Rewrites `.ts` in a declaration file's imports, which the compiler does in JavaScript only. */
function mendDeclaration(path: string): void {
  if (!path.endsWith(".d.ts")) return;
  const text = Deno.readTextFileSync(path);
  Deno.writeTextFileSync(path, text.replace(/(["']\.{1,2}\/[^"']*)\.ts(["'])/g, "$1.js$2"));
}

function filesIn(folder: string): string[] {
  return [...Deno.readDirSync(folder)].flatMap(({ name, isDirectory }) =>
    isDirectory ? filesIn(`${folder}/${name}`) : [`${folder}/${name}`]
  );
}

async function pack(folder: string, target: string): Promise<number> {
  const command = new Deno.Command("npm", {
    args: ["pack", "--silent", "--ignore-scripts", "--pack-destination", target],
    cwd: folder,
    stdout: "piped",
    stderr: "inherit",
  });
  try {
    const { code, stdout } = await command.output();
    if (code === 0) console.log(`${target}/${new TextDecoder().decode(stdout).trim()}`);
    return code;
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
    console.error("npm, which makes the tarball, is not there: install Node.js");
    return 1;
  }
}

if (import.meta.main) Deno.exit(await main(Deno.args));
