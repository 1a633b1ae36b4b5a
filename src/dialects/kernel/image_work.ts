import { type HostedWork, unknownCost, type VendorState } from "./hosted.ts";
import { asString, isRecord, type JsonRecord } from "./json.ts";

/**
 * Returns the hosted work of an image request: an SVG, which another model writes and whose tokens
 * aren't in the usage, and files that are named by their id at the vendor.
 */
export function imageWork(fields: JsonRecord): HostedWork {
  // In a form the members of `svg` are separate fields.
  const path = fields.output_format === "svg"
    ? "output_format"
    : Object.keys(fields).find((name) => /^svg([[.]|$)/.test(name) && fields[name] !== null);
  const tools = path === undefined ? [] : [{ path, name: "svg", cost: unknownCost }];
  return { tools, state: filesNamed(fields) };
}

/** Images and masks named by the id of a file at the vendor. */
function filesNamed(fields: JsonRecord): VendorState[] {
  const found: VendorState[] = [];
  const collect = (value: unknown, path: string) => {
    if (isRecord(value) && asString(value.file_id) !== undefined) {
      found.push({ path: `${path}.file_id` });
    }
  };
  for (const name of ["image", "images", "mask"]) {
    const value = fields[name];
    if (Array.isArray(value)) value.forEach((one, index) => collect(one, `${name}[${index}]`));
    else collect(value, name);
  }
  return found;
}
