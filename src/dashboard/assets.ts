import { sha256Hex } from "../base/hash.ts";
import { programFile } from "../base/program_files.ts";

/** The files that pages refer to, served by ourselves: the content policy allows no others. */
export interface Assets {
  /** Address of a file; it changes with the content, so that browsers may keep it for ever. */
  address(name: AssetName): string;
  /** Undefined when there is no such file. */
  find(name: string): { body: string; type: string; version: string } | undefined;
}

export type AssetName =
  | "style.css"
  | "dashboard.js"
  | "interactions.js"
  | "refresh.js"
  | "chart.js"
  | "playground.js"
  | "favicon.svg";

const types: Readonly<Record<AssetName, string>> = {
  "style.css": "text/css; charset=utf-8",
  "dashboard.js": "text/javascript; charset=utf-8",
  "refresh.js": "text/javascript; charset=utf-8",
  "interactions.js": "text/javascript; charset=utf-8",
  "chart.js": "text/javascript; charset=utf-8",
  "playground.js": "text/javascript; charset=utf-8",
  "favicon.svg": "image/svg+xml",
};

/** The common sheet, then those of single families of pages; browsers get one `style.css`. */
const sheets = [
  "style.css",
  "interactions.css",
  "records.css",
  "overview.css",
  "playground.css",
];

/** Reads the files once. */
export function readAssets(): Assets {
  const files = new Map(
    Object.entries(types).map(([name, type]) => {
      const sources = name === "style.css" ? sheets : [name];
      const body = sources.map(readText).join("\n");
      return [name, { body, type, version: sha256Hex(body).slice(0, 12) }];
    }),
  );
  return {
    address: (name) => `/dashboard/assets/${name}?v=${files.get(name)!.version}`,
    find: (name) => files.get(name),
  };
}

function readText(name: string): string {
  return Deno.readTextFileSync(programFile(`src/dashboard/assets/${name}`));
}
