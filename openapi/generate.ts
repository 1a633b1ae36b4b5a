import manifest from "../deno.json" with { type: "json" };
import { clientFiles } from "./client_files.ts";
import { buildDocument, type DocumentVersion } from "./document.ts";

/** Generates the document in both versions and a part of the client; returns texts by file name. */
export async function generateFiles(): Promise<ReadonlyMap<string, string>> {
  const built = new Map(
    [...documents].map(([name, openapi]) => [name, buildDocument(openapi, manifest.version)]),
  );
  const files = new Map<string, string>();
  for (const [name, document] of built) files.set(name, JSON.stringify(document, null, 1) + "\n");
  for (const [name, text] of await clientFiles(built.get("openapi.json")!)) {
    files.set(generated + name, text);
  }
  return files;
}

/**
 * Writes the files into a folder; with `check` it only compares. Returns the names of the files
 * that differed, including those that should not exist.
 */
export function writeGenerated(
  folder: URL,
  files: ReadonlyMap<string, string>,
  check: boolean,
): string[] {
  const present = new Set([...documents.keys(), ...filesIn(folder, generated)]);
  const outdated = [...new Set([...files.keys(), ...present])].filter((name) =>
    files.get(name) !== textOf(new URL(name, folder))
  );
  if (!check) {
    for (const name of outdated) write(new URL(name, folder), files.get(name));
  }
  return outdated;
}

const generated = "client/generated/";

const documents: ReadonlyMap<string, DocumentVersion> = new Map([
  ["openapi.json", "3.1.0"],
  ["openapi-3.0.json", "3.0.3"],
]);

function write(path: URL, text: string | undefined): void {
  if (text === undefined) return Deno.removeSync(path);
  Deno.mkdirSync(new URL("./", path), { recursive: true });
  Deno.writeTextFileSync(path, text);
}

function textOf(path: URL): string | undefined {
  return unlessMissing(() => Deno.readTextFileSync(path));
}

function filesIn(folder: URL, below: string): string[] {
  const entries = unlessMissing(() => [...Deno.readDirSync(new URL(below, folder))]) ?? [];
  return entries.flatMap(({ name, isDirectory }) =>
    isDirectory ? filesIn(folder, `${below}${name}/`) : [below + name]
  );
}

function unlessMissing<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return undefined;
    throw error;
  }
}

/** `deno task openapi` writes, `deno task openapi --check` exits 1 on drift. */
async function main(args: readonly string[]): Promise<number> {
  const refused = args.find((arg) => arg !== "--check");
  if (refused !== undefined) {
    console.error(`'${refused}' is unknown: 'deno task openapi' takes only --check.`);
    return 2;
  }
  const check = args.includes("--check");
  const outdated = writeGenerated(new URL("./", import.meta.url), await generateFiles(), check);
  for (const name of outdated) {
    const drift = `openapi/${name} is not what contracts/ makes: run 'deno task openapi'`;
    console.log(check ? drift : `wrote openapi/${name}`);
  }
  return check && outdated.length > 0 ? 1 : 0;
}

if (import.meta.main) Deno.exit(await main(Deno.args));
