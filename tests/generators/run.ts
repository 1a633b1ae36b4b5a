/**
 * `deno task openapi:generators`: has each generator of clients make one from each of the two
 * documents, compiles all of it with TypeScript's `strict`, libraries included, and calls a service
 * in front of simulated vendors with it. Not part of the gate: it downloads 160 MB and a Java
 * archive. Needs Node and npm, and Java for the last generator.
 */
import { startSimulatedService } from "../support/service.ts";
import { type Generator, generators, packages } from "./generators.ts";

const root = decodeURIComponent(new URL("../..", import.meta.url).pathname);
const documents = ["openapi.json", "openapi-3.0.json"];

async function main(): Promise<number> {
  const folder = await Deno.makeTempDir({ prefix: "gateway-generators-" });
  const failures: string[] = [];
  try {
    await using service = await startSimulatedService();
    write(`${folder}/package.json`, { private: true, dependencies: packages });
    for (const name of documents) Deno.copyFileSync(`${root}openapi/${name}`, `${folder}/${name}`);
    await run(folder, "npm", ["install", "--no-audit", "--no-fund", "--ignore-scripts"]);
    for (const document of documents) {
      for (const generator of generators) {
        const wrong = await tryGenerator(folder, generator, document, service);
        const title = `${generator.title}, ${document}`;
        console.log(wrong === "" ? `ok      ${title}` : `FAILED  ${title}\n${wrong}`);
        if (wrong !== "") failures.push(title);
      }
    }
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
  console.log(
    `${generators.length * documents.length - failures.length} passed, ${failures.length} failed`,
  );
  return failures.length === 0 ? 0 : 1;
}

/** Empty when all is well. */
async function tryGenerator(
  folder: string,
  generator: Generator,
  document: string,
  service: { baseUrl: string; key: string },
): Promise<string> {
  const target = `${generator.name}-${document.replace(/\W/g, "")}`;
  Deno.mkdirSync(`${folder}/${target}`);
  try {
    const [program, ...args] = generator.command(document, target, service.baseUrl);
    await run(folder, `node_modules/.bin/${program}`, settingsToFile(folder, args));
    write(`${folder}/${target}/program.ts`, generator.program);
    write(`${folder}/${target}/tsconfig.json`, compilerSettings);
    await run(folder, "node_modules/.bin/tsc", ["-p", target]);
    const said = await run(folder, "node", [`${target}/out/program.js`], {
      BASE_URL: service.baseUrl,
      API_KEY: service.key,
    });
    const [models, chat, message, rows, code] = JSON.parse(said);
    const right = models === true && chat === "Hello." && message === "Hello." && rows > 0 &&
      code === "model_not_found";
    return right ? "" : `It found ${said}`;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

/** CommonJS: generators leave the endings of files out of their imports. */
const compilerSettings = {
  compilerOptions: {
    strict: true,
    skipLibCheck: false,
    target: "ES2022",
    lib: ["ES2022", "DOM", "DOM.Iterable"],
    types: [],
    module: "CommonJS",
    moduleResolution: "node10",
    esModuleInterop: true,
    rootDir: ".",
    outDir: "out",
  },
};

/** Settings that a generator takes from a file only. */
function settingsToFile(folder: string, args: readonly string[]): string[] {
  return args.map((arg) => {
    if (!arg.startsWith("data:")) return arg;
    write(`${folder}/settings.cjs`, `module.exports = ${arg.slice("data:".length)};`);
    return "settings.cjs";
  });
}

async function run(
  cwd: string,
  program: string,
  args: readonly string[],
  env: Record<string, string> = {},
): Promise<string> {
  const path = program.includes("/") ? `${cwd}/${program}` : program;
  const { code, stdout, stderr } = await new Deno.Command(path, { args: [...args], cwd, env })
    .output();
  const [out, err] = [stdout, stderr].map((bytes) => new TextDecoder().decode(bytes));
  if (code !== 0) throw new Error(`${program} ${args[0]} ended with ${code}:\n${out}${err}`);
  return out!;
}

function write(path: string, value: unknown): void {
  Deno.writeTextFileSync(path, typeof value === "string" ? value : JSON.stringify(value, null, 1));
}

if (import.meta.main) Deno.exit(await main());
