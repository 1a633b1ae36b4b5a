/**
 * `deno task compile [--target T]`: compiles the bundle to one executable per target in `dist/`.
 * Deno downloads the runtime of each target; `DENORT_BIN` names an existing one to use instead.
 */
import { parseArgs } from "node:util";
import { bundle } from "./bundle.ts";
import { programModules, runFlags } from "./contents.ts";

/** The targets that Deno has a runtime for. */
export const targets: readonly string[] = [
  "x86_64-unknown-linux-gnu",
  "aarch64-unknown-linux-gnu",
  "x86_64-apple-darwin",
  "aarch64-apple-darwin",
  "x86_64-pc-windows-msvc",
];

/**
 * Compiles the bundle in a folder to one file, by default for this machine. Returns the output of
 * `deno compile`, which includes the tree of embedded files; throws an Error with it on failure.
 */
export async function compile(
  folder: string,
  output: string,
  target?: string,
  env: Readonly<Record<string, string>> = {},
): Promise<string> {
  const modules = programModules.map((path) => `--include=${path.replace(/\.ts$/, ".js")}`);
  const { success, stderr } = await new Deno.Command(Deno.execPath(), {
    args: [
      "compile",
      "--no-check",
      ...runFlags,
      ...(target === undefined ? [] : [`--target=${target}`]),
      ...modules,
      "--include=.",
      "--app-name=demeter",
      `--output=${output}`,
      "program.js",
    ],
    cwd: folder,
    env: { NO_COLOR: "1", ...env },
  }).output();
  const message = new TextDecoder().decode(stderr);
  if (!success) throw new Error(`deno compile failed:\n${message}`);
  return message;
}

async function main(args: readonly string[]): Promise<number> {
  let target: string | undefined;
  try {
    ({ target } = parseArgs({ args: [...args], options: { target: { type: "string" } } }).values);
  } catch (thrown) {
    console.error(thrown instanceof Error ? thrown.message : thrown);
    return 2;
  }
  if (target !== undefined && !targets.includes(target)) {
    console.error(`--target ${target} is not one of ${targets.join(", ")}`);
    return 2;
  }
  const dist = decodeURIComponent(new URL("../dist", import.meta.url).pathname);
  await bundle(`${dist}/bundle`);
  let failed = 0;
  for (const each of target === undefined ? targets : [target]) {
    try {
      await compile(`${dist}/bundle`, `${dist}/demeter-${each}`, each);
      console.log(`dist/demeter-${each}${each.includes("windows") ? ".exe" : ""}`);
    } catch (thrown) {
      failed++;
      console.error(thrown instanceof Error ? thrown.message : thrown);
    }
  }
  return failed === 0 ? 0 : 1;
}

if (import.meta.main) Deno.exit(await main(Deno.args));
