import manifest from "../deno.json" with { type: "json" };
import { buildDocument, type DocumentVersion } from "./document.ts";

/**
 * Writes the document in both versions into a folder; with `check` it only compares. Returns the
 * names of the files that are not what the contracts make.
 */
export function writeDocuments(folder: URL, check: boolean): string[] {
  return files.filter(([name, openapi]) => {
    const path = new URL(name, folder);
    const wanted = JSON.stringify(buildDocument(openapi, manifest.version), null, 1) + "\n";
    if (wanted === present(path)) return false;
    if (!check) Deno.writeTextFileSync(path, wanted);
    return true;
  }).map(([name]) => name);
}

const files: readonly (readonly [name: string, openapi: DocumentVersion])[] = [
  ["openapi.json", "3.1.0"],
  ["openapi-3.0.json", "3.0.3"],
];

function present(path: URL): string {
  try {
    return Deno.readTextFileSync(path);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return "";
    throw error;
  }
}

/** `deno task openapi` writes, `deno task openapi --check` exits 1 on drift. */
function main(args: readonly string[]): number {
  const check = args.includes("--check");
  const outdated = writeDocuments(new URL("./", import.meta.url), check);
  for (const name of outdated) {
    const drift = `openapi/${name} is not what contracts/ makes: run 'deno task openapi'`;
    console.log(check ? drift : `wrote openapi/${name}`);
  }
  return check && outdated.length > 0 ? 1 : 0;
}

if (import.meta.main) Deno.exit(main(Deno.args));
