import { sha256Hex } from "../base/hash.ts";
import { programFile } from "../base/program_files.ts";

/** The files that pages load. We serve them ourselves: the content policy allows no others. */
export interface Assets {
  /** Returns a file's address, which changes with its content, so that browsers may cache it. */
  address(name: AssetName): string;
  find(name: string): { body: string; type: string; version: string } | undefined;
}

export type AssetName =
  | "style.css"
  | SheetName
  | "dashboard.js"
  | "interactions.js"
  | "refresh.js"
  | "chart.js"
  | "playground.js"
  | "favicon.svg";

/** Sheets for one section's pages each, beside the common one; class names aren't shared. */
export type SheetName = "interactions.css" | "overview.css" | "playground.css" | "records.css";

const css = "text/css; charset=utf-8";

const types: Readonly<Record<AssetName, string>> = {
  "style.css": css,
  "interactions.css": css,
  "overview.css": css,
  "playground.css": css,
  "records.css": css,
  "dashboard.js": "text/javascript; charset=utf-8",
  "refresh.js": "text/javascript; charset=utf-8",
  "interactions.js": "text/javascript; charset=utf-8",
  "chart.js": "text/javascript; charset=utf-8",
  "playground.js": "text/javascript; charset=utf-8",
  "favicon.svg": "image/svg+xml",
};

export function readAssets(): Assets {
  const files = new Map(
    Object.entries(types).map(([name, type]) => {
      const body = Deno.readTextFileSync(programFile(`src/dashboard/assets/${name}`));
      return [name, { body, type, version: sha256Hex(body).slice(0, 12) }];
    }),
  );
  return {
    address: (name) => `/dashboard/assets/${name}?v=${files.get(name)!.version}`,
    find: (name) => files.get(name),
  };
}
