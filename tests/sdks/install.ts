import type { Client } from "./clients.ts";

/** A client that is ready to run in its folder. */
export interface Installed {
  readonly command: readonly string[];
  readonly env: Readonly<Record<string, string>>;
}

const programs = `${import.meta.dirname}/programs`;

/**
 * Installs a client into its folder, unless these versions are there from another time, and writes
 * its program beside the page's block.
 */
export async function install(client: Client, folder: string, block: string): Promise<Installed> {
  await Deno.mkdir(folder, { recursive: true });
  const packagesText = client.packages.join("\n");
  const isNew = packagesText !== await Deno.readTextFile(`${folder}/installed`).catch(() => "");
  const run = (command: string, ...args: string[]) => runIn(folder, command, args);
  const { name, packages } = client;
  const done = () => Deno.writeTextFile(`${folder}/installed`, packagesText);
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
    case "go": {
      await Deno.writeTextFile(`${folder}/gateway.go`, block);
      await copy(`go/${name}.go`, `${folder}/program.go`);
      await copy("go/report.go", `${folder}/report.go`);
      if (isNew) {
        await Deno.remove(`${folder}/go.mod`).catch(() => {});
        await run("go", "mod", "init", "sdk");
        await run("go", "get", ...packages);
        await run("go", "mod", "tidy");
        await done();
      }
      await run("go", "build", "-o", "program", ".");
      return { command: ["./program"], env: {} };
    }
    case "java": {
      await Deno.writeTextFile(`${folder}/Gateway.java`, block);
      await copy(`java/${name}.java`, `${folder}/Program.java`);
      await copy("java/Report.java", `${folder}/Report.java`);
      if (isNew) {
        await Deno.writeTextFile(`${folder}/pom.xml`, projectOf(packages));
        const copyJars = "dependency:copy-dependencies";
        await run("mvn", "-q", "-B", copyJars, "-DoutputDirectory=lib", "-DincludeScope=runtime");
        await done();
      }
      const sources = ["Gateway.java", "Program.java", "Report.java"];
      const encoding = ["-encoding", "UTF-8"];
      await run("javac", "-parameters", ...encoding, "-cp", "lib/*", "-d", "classes", ...sources);
      const java = ["java", "-Dfile.encoding=UTF-8", "-cp", "classes:lib/*", "Program"];
      return { command: java, env: {} };
    }
  }
}

/** What Maven copies the artifacts for, written as `group:artifact:version`. */
function projectOf(artifacts: readonly string[]): string {
  const dependencies = artifacts.map((one) => {
    const [group, artifact, version] = one.split(":");
    return `<dependency><groupId>${group}</groupId><artifactId>${artifact}</artifactId>` +
      `<version>${version}</version></dependency>`;
  });
  return `<project><modelVersion>4.0.0</modelVersion><groupId>sdk</groupId>` +
    `<artifactId>sdk</artifactId><version>1</version>` +
    `<dependencies>${dependencies.join("")}</dependencies></project>\n`;
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
