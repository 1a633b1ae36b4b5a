import manifest from "../deno.json" with { type: "json" };
import { clientFiles } from "./client_files.ts";
import { buildDocument, type DocumentVersion } from "./document.ts";

/**
 * Writes the document in both versions and the client's generated half into a folder; with `check`
 * it only compares. Returns the names of the files that are not what the contracts make, those
 * included that are there and should not be.
 */
export async function writeGenerated(folder: URL, check: boolean): Promise<string[]> {
  const wanted = new Map<string, string>();
  for (const [name, openapi] of documents) {
    const document = buildDocument(openapi, manifest.version);
    wanted.set(name, JSON.stringify(document, null, 1) + "\n");
  }
  for (const [name, text] of await clientFiles(buildDocument("3.1.0", manifest.version))) {
    wanted.set(generated + name, text);
  }
  const present = new Set([...documents.keys(), ...filesIn(folder, generated)]);
  const outdated = [...new Set([...wanted.keys(), ...present])].filter((name) =>
    wanted.get(name) !== textOf(new URL(name, folder))
  );
  if (!check) {
    for (const name of outdated) write(new URL(name, folder), wanted.get(name));
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
  const check = args.includes("--check");
  const outdated = await writeGenerated(new URL("./", import.meta.url), check);
  for (const name of outdated) {
    const drift = `openapi/${name} is not what contracts/ makes: run 'deno task openapi'`;
    console.log(check ? drift : `wrote openapi/${name}`);
  }
  return check && outdated.length > 0 ? 1 : 0;
}

if (import.meta.main) Deno.exit(await main(Deno.args));
