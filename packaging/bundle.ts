/**
 * `deno task bundle`: makes a folder with the whole program, which needs no source tree and no
 * downloads: JavaScript, the files that it reads, a command `demeter`, a `deno.json` with tasks.
 */
import {
  embeddedImage,
  programFiles,
  programFolders,
  programModules,
  runEnvironment,
  runFlags,
  startFlags,
  thirdPartyLicenses,
} from "./contents.ts";
import { licensesOf, packageCache, packagesIn, withoutCachePath } from "./licenses.ts";

const repository = new URL("../", import.meta.url);

/** Makes the bundle in a folder, which is emptied first; the path ends without a slash. */
export async function bundle(folder: string): Promise<void> {
  await Deno.remove(folder, { recursive: true }).catch(() => {});
  const bundling = ["bundle", "--quiet", "--no-check", "--platform=deno", "--code-splitting"];
  await run([...bundling, `--outdir=${folder}`, "program.ts", ...programModules]);
  await addFilesOfPackages(folder);
  await addLicenses(folder);
  for (const path of [...programFiles, ...await filesIn(programFolders)]) {
    await copy(new URL(path, repository), `${folder}/${path}`);
  }
  // Replaces the empty image by a migrated one: a first start then has nothing to migrate.
  await run(["run", "-A", "--frozen", imageBuilder, `${folder}/${embeddedImage}`]);
  await Deno.writeTextFile(`${folder}/deno.json`, settings());
  await Deno.writeTextFile(`${folder}/demeter`, launcher(), { mode: 0o755 });
}

const imageBuilder = "src/database/embedded/image/build.ts";

async function run(args: readonly string[]): Promise<void> {
  const { success, stderr } = await new Deno.Command(Deno.execPath(), {
    args: [...args],
    cwd: repository,
    env: { NO_COLOR: "1" },
  }).output();
  if (!success) throw new Error(`deno ${args[0]} failed:\n${new TextDecoder().decode(stderr)}`);
}

/**
 * Copies the files that packages read beside their own code, such as the embedded database's
 * WebAssembly: bundled code looks for them beside the bundle. Throws if one isn't found.
 */
async function addFilesOfPackages(folder: string): Promise<void> {
  for (const path of await filesBelow(folder)) {
    if (!path.endsWith(".js")) continue;
    const code = await Deno.readTextFile(`${folder}/${path}`);
    for (const [, name = ""] of code.matchAll(besideItself)) {
      const beside = `${folder}/${path.replace(/[^/]*$/, "")}${name}`;
      await copy(new URL(name, import.meta.resolve("@electric-sql/pglite")), beside);
    }
  }
}

/** Adds the licenses of the packages, and removes from the code where they were on this machine. */
async function addLicenses(folder: string): Promise<void> {
  const cache = await packageCache(decodeURIComponent(repository.pathname));
  const packages = new Set<string>();
  for (const path of await filesBelow(folder)) {
    if (!path.endsWith(".js")) continue;
    const code = withoutCachePath(await Deno.readTextFile(`${folder}/${path}`), cache);
    await Deno.writeTextFile(`${folder}/${path}`, code);
    for (const each of packagesIn(code)) packages.add(each);
  }
  await Deno.writeTextFile(`${folder}/${thirdPartyLicenses}`, await licensesOf(packages, cache));
}

const besideItself = /new URL\("\.\/([\w.-]+)", ?import\.meta\.url\)/g;

/** Returns the bundle's `deno.json`, with the settings that the code needs and the tasks. */
function settings(): string {
  const ours = JSON.parse(Deno.readTextFileSync(new URL("deno.json", repository)));
  const commandWith = (flags: readonly string[]) =>
    `${runEnvironment} deno run ${flags.join(" ")} program.js`;
  const command = commandWith(runFlags);
  return JSON.stringify(
    {
      version: ours.version,
      nodeModulesDir: "none",
      unstable: ours.unstable,
      tasks: { start: commandWith(startFlags), demo: `${command} demo`, admin: `${command} admin` },
    },
    null,
    2,
  ) + "\n";
}

/**
 * Returns a command for shells, services and containers. It allows reading only the program, its
 * data and the files that settings name, and writing only its data and systemd's notification
 * socket; an operator's export may be written anywhere.
 */
function launcher(): string {
  const narrowed = runFlags.filter((flag) => !/^--(allow-(read|write)|deny-run)$/.test(flag));
  const files = operatorsFiles.map((name) => `\${${name}:+,$${name}}`).join("");
  return `#!/bin/sh
# demeter [start | demo [--empty] | admin <command>]; DENO names another deno than the one in PATH.
set -eu
home=$(dirname "$(readlink -f "$0")")
export DATA_DIR="\${DATA_DIR:-./data}" DENO_NO_UPDATE_CHECK=1
export ${runEnvironment}
# As it was called, for the commands that it shows; a worker's parent has said it.
command=$0
[ "$(command -v demeter || :)" != "$0" ] || command=demeter
case $command in *[!A-Za-z0-9_./-]*) command="'$command'" ;; esac
export DEMETER_COMMAND="\${DEMETER_COMMAND:-$command}"
run=--deny-run
# Workers are this command again; they start nothing.
[ "\${WORKERS:-1}" = 1 ] || [ -n "\${DEMETER_WORKER:-}" ] || run=--allow-run="$home/demeter"
# Deno checks some operations on open files by their real path, and systemd makes DATA_DIR a link.
real=$(readlink -m "$DATA_DIR" 2> /dev/null || readlink -f "$DATA_DIR" || :)
data="$DATA_DIR\${real:+,$real}"
read="=$home,$data${files}" write="=$data\${NOTIFY_SOCKET:+,$NOTIFY_SOCKET}"
# It is written where it is told to be; renaming it, once it is whole, takes reading too.
[ "\${1:-} \${2:-}" != "admin export" ] || read= write=
exec "\${DENO:-deno}" run --cached-only ${narrowed.join(" ")} "$run" \\
  --allow-read"$read" --allow-write"$write" \\
  "$home/program.js" "$@"
`;
}

/** Settings that name files. */
export const operatorsFiles: readonly string[] = [
  ...["TLS_CERT_FILE", "TLS_KEY_FILE", "VENDORS_FILE", "PRICES_FILE", "MODELS_FILE"],
];

async function filesIn(folders: readonly string[]): Promise<string[]> {
  const found = await Promise.all(folders.map(async (folder) => {
    const files = await filesBelow(decodeURIComponent(new URL(folder, repository).pathname));
    return files.map((file) => `${folder}/${file}`);
  }));
  return found.flat();
}

async function filesBelow(folder: string): Promise<string[]> {
  const found: string[] = [];
  for await (const entry of Deno.readDir(folder)) {
    if (entry.isFile) found.push(entry.name);
    if (!entry.isDirectory) continue;
    for (const file of await filesBelow(`${folder}/${entry.name}`)) {
      found.push(`${entry.name}/${file}`);
    }
  }
  return found.sort();
}

async function copy(from: URL, to: string): Promise<void> {
  await Deno.mkdir(to.replace(/\/[^/]*$/, ""), { recursive: true });
  await Deno.copyFile(from, to);
}

if (import.meta.main) {
  const folder = decodeURIComponent(new URL("dist/bundle", repository).pathname);
  await bundle(folder);
  console.log(`The program is in ${folder}, and started by ${folder}/demeter.`);
}
