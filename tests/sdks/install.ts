import type { Client } from "./clients.ts";

/** A client that is ready to run in its folder. */
export interface Installed {
  readonly command: readonly string[];
  readonly env: Readonly<Record<string, string>>;
}

const programs = `${import.meta.dirname}/programs`;

/**
 * Installs a client into its folder, unless it is there from another time, and writes its program
 * beside the page's block.
 */
export async function install(client: Client, folder: string, block: string): Promise<Installed> {
  await Deno.mkdir(folder, { recursive: true });
  const isNew = await Deno.stat(`${folder}/installed`).then(() => false, () => true);
  const run = (command: string, ...args: string[]) => runIn(folder, command, args);
  const { name, packages } = client;
  const done = () => Deno.writeTextFile(`${folder}/installed`, packages.join("\n"));
  switch (client.language) {
    case "python": {
      if (isNew) {
        const pip = ["-m", "pip", "install", "--quiet", "--no-compile", "--target", "python"];
        await run("python3", ...pip, ...packages);
        await done();
      }
      await Deno.writeTextFile(`${folder}/gateway.py`, block);
      await copy(`python/${name}.py`, `${folder}/program.py`);
      await copy("python/report.py", `${folder}/report.py`);
      return { command: ["python3", "program.py"], env: { PYTHONPATH: `${folder}/python` } };
    }
    case "node": {
      if (isNew) {
        await Deno.writeTextFile(`${folder}/package.json`, "{}");
        await run("npm", "install", "--no-audit", "--no-fund", "--silent", ...packages);
        await done();
      }
      await Deno.writeTextFile(`${folder}/gateway.mjs`, block);
      await copy(`node/${name}.mjs`, `${folder}/program.mjs`);
      await copy("node/report.mjs", `${folder}/report.mjs`);
      return { command: ["node", "program.mjs"], env: {} };
    }
  }
}

async function copy(from: string, to: string): Promise<void> {
  await Deno.copyFile(`${programs}/${from}`, to);
}

async function runIn(cwd: string, command: string, args: readonly string[]): Promise<void> {
  const { success, stdout, stderr } = await new Deno.Command(command, {
    ...{ args: [...args], cwd, stdin: "null" },
  }).output();
  if (success) return;
  const text = new TextDecoder().decode(stdout) + new TextDecoder().decode(stderr);
  throw new Error(`${command} ${args.slice(0, 3).join(" ")}: ${text.trim().slice(-1500)}`);
}
