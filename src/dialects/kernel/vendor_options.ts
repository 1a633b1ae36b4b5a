import type { HostedWork } from "./hosted.ts";
import { invalidValue } from "../../shared/fault.ts";
import { isRecord, type JsonRecord, mapMembers } from "./json.ts";

/**
 * Returns a vendor's request with the caller's `provider_options` merged in; only objects are
 * merged, other values are replaced. Throws `invalid_value` for options that the service itself
 * decides (`decided`, as paths): the request has fields for them.
 */
export function withOptions(
  body: JsonRecord,
  options: JsonRecord,
  decided: readonly string[],
): JsonRecord {
  const refused = decided.find((path) => path.split(".").reduce(inner, options) !== undefined);
  if (refused === undefined) return merged(body, options);
  const param = inOptions(refused);
  throw invalidValue(param, "can't be set here; use the request's own field");
}

/** Returns the hosted work of a vendor's options, with the paths that it has in the request. */
export function optionsWork({ tools, state, tier, ...limits }: HostedWork): HostedWork {
  const placed = <T extends { path: string }>(one: T) => ({ ...one, path: inOptions(one.path) });
  return {
    ...limits,
    tools: tools.map(placed),
    state: state.map(placed),
    ...(tier && { tier: placed(tier) }),
  };
}

/** Returns an option's path in the caller's request. */
export function inOptions(path: string): string {
  return `provider_options.${path}`;
}

function inner(value: unknown, key: string): unknown {
  return isRecord(value) ? value[key] : undefined;
}

function merged(body: JsonRecord, options: JsonRecord): JsonRecord {
  const both = mapMembers(options, (value, key) => {
    const own = body[key];
    return isRecord(own) && isRecord(value) ? merged(own, value) : value;
  });
  return { ...body, ...both };
}
