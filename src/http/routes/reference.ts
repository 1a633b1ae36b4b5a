import { documents, referenceFile } from "../../../contracts/data/status.ts";
import { parseExactly } from "../../base/exact_json.ts";
import { programFile } from "../../base/program_files.ts";
import { Fault } from "../../shared/fault.ts";
import { type Endpoints, type ReplyOutput } from "../bind.ts";
import { type AddressDeps, publicAddress } from "../own_address.ts";

/** Mounts the OpenAPI document in both versions and the reference page; none needs a key. */
export function referenceRoutes(app: Endpoints, deps: AddressDeps): void {
  for (
    const [contract, name] of [
      [documents.current, "openapi.json"],
      [documents.older, "openapi-3.0.json"],
    ] as const
  ) {
    app.bindPublic(contract, async ({ header }) => {
      const text = await Deno.readTextFile(programFile(`openapi/${name}`));
      // A relative URL is resolved against the document's own URL.
      const servers = [{ url: publicAddress(deps, header) || "/", description: "This service" }];
      return bytes(
        "application/json",
        JSON.stringify({ ...parseExactly(text) as object, servers }),
      );
    });
  }
  app.bindPublic(documents.reference, async () => await page("page.html"));
  app.bindPublic(referenceFile, async ({ params, header }) => {
    if (params.file !== "page.html" && Object.hasOwn(types, params.file)) {
      return await page(params.file);
    }
    if (params.file === `${scalar}.js`) return await scalarScript(header("accept-encoding") ?? "");
    throw new Fault("endpoint_not_found");
  });
}

/** Name of the bundle; each version has a new name, so that it can be cached forever. */
const scalar = "scalar-1.72.1";

const javascript = "text/javascript; charset=utf-8";
/** The files of the page. */
const types: Readonly<Record<string, string>> = {
  "page.html": "text/html; charset=utf-8",
  "page.css": "text/css; charset=utf-8",
  "icon.svg": "image/svg+xml",
  "before.js": javascript,
  "start.js": javascript,
};

async function page(name: string): Promise<ReplyOutput> {
  return bytes(types[name]!, await Deno.readTextFile(fileOf(name)));
}

/** Stored compressed; unpacked for clients without gzip. */
async function scalarScript(acceptEncoding: string): Promise<ReplyOutput> {
  const packed = await Deno.readFile(fileOf(`${scalar}.js.gz`));
  const headers = {
    "cache-control": "public, max-age=31536000, immutable",
    vary: "accept-encoding",
  };
  if (/\bgzip\b/.test(acceptEncoding)) {
    return bytes(javascript, packed, { ...headers, "content-encoding": "gzip" });
  }
  const unpacked = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
  return bytes(javascript, await new Response(unpacked).bytes(), headers);
}

function fileOf(name: string): URL {
  return programFile(`src/http/reference/${name}`);
}

function bytes(
  type: string,
  body: string | Uint8Array<ArrayBuffer>,
  headers: Record<string, string> = { "cache-control": "no-cache" },
): ReplyOutput {
  return { reply: { status: 200, headers: { "content-type": type, ...headers }, body } };
}
