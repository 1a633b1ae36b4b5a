import manifest from "../deno.json" with { type: "json" };
import { buildDocument, type DocumentVersion } from "./document.ts";

/**
 * `deno task openapi` writes the document in both versions; `--check` only says whether the files
 * are what the contracts make, and exits 1 when they aren't.
 */
function main(args: readonly string[]): number {
  const check = args.includes("--check");
  const outdated = files.filter(({ path, openapi }) => {
    const wanted = JSON.stringify(buildDocument(openapi, manifest.version), null, 1) + "\n";
    if (wanted === present(path)) return false;
    if (!check) Deno.writeTextFileSync(path, wanted);
    return true;
  });
  if (outdated.length === 0) return 0;
  const names = outdated.map(({ name }) => name).join(" and ");
  console.log(
    check ? `${names} is not what contracts/ makes: run 'deno task openapi'` : `wrote ${names}`,
  );
  return check ? 1 : 0;
}

const file = (name: string, openapi: DocumentVersion) => ({
  name: `openapi/${name}`,
  path: new URL(`./${name}`, import.meta.url),
  openapi,
});
const files = [file("openapi.json", "3.1.0"), file("openapi-3.0.json", "3.0.3")];

function present(path: URL): string {
  try {
    return Deno.readTextFileSync(path);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return "";
    throw error;
  }
}

if (import.meta.main) Deno.exit(main(Deno.args));
