import type { Steps } from "../../base/steps.ts";
import {
  endsStep,
  type HostedWork,
  type StateSearch,
  unknownCost,
  type VendorState,
} from "./hosted.ts";
import { asString, isRecord, type JsonRecord } from "./json.ts";

/**
 * Returns the hosted work of an image request: an SVG, which another model writes and whose tokens
 * aren't in the usage, and files that are named by their id at the vendor.
 */
export function* imageWork(fields: JsonRecord): Steps<HostedWork> {
  // In a form the members of `svg` are separate fields.
  const path = fields.output_format === "svg"
    ? "output_format"
    : Object.keys(fields).find((name) => /^svg([[.]|$)/.test(name) && fields[name] !== null);
  const tools = path === undefined ? [] : [{ path, name: "svg", cost: unknownCost }];
  return { tools, state: yield* filesNamed(fields) };
}

/** Images and masks named by the id of a file at the vendor. */
function* filesNamed(fields: JsonRecord): Steps<VendorState[]> {
  const search: StateSearch = { state: [], elements: 0 };
  for (const name of ["image", "images", "mask"]) {
    const value = fields[name];
    for (const [index, one] of (Array.isArray(value) ? value : [value]).entries()) {
      if (endsStep(search)) yield;
      if (!isRecord(one) || asString(one.file_id) === undefined) continue;
      const path = Array.isArray(value) ? `${name}[${index}]` : name;
      search.state.push({ path: `${path}.file_id` });
    }
  }
  return search.state;
}
