import type { Contract } from "../../contracts/kernel/contract.ts";
import { contracts, familyContracts } from "../../contracts/mod.ts";
import type { VendorFamily } from "../../contracts/calls/vendors.ts";
import { nearestNames } from "../base/nearest_names.ts";

/** Finds what a wrong path most likely stands for. */
export type NearestEndpoint = (method: string, path: string) => string;

type Addressed = Pick<Contract, "method" | "path" | "aliases">;

/**
 * Says what a request of an unknown method or path may mean, as a sentence that follows another one
 * (` Did you mean POST /chat/v1/chat/completions?`); empty where nothing is near. In this order: the
 * path with another method; the path with its version, or below `/chat/v1`; the path with a slip.
 */
export function createNearestEndpoint(families: readonly VendorFamily[]): NearestEndpoint {
  // Made for the first wrong path: a start needs none of it.
  let known: ReadonlyMap<string, ReadonlySet<string>> | undefined;
  const familyOf = new Map(
    families.flatMap((family) =>
      [family.label, ...family.aliases].map((name) => [name, family] as const)
    ),
  );
  return (method, path) => {
    const methodsByPath = known ??= endpointsOf(families);
    const asked = path.length > 1 ? path.replace(/\/$/, "") : path;
    const methods = methodsByPath.get(asked);
    if (methods) return ` Did you mean ${[...methods].join(" or ")} ${asked}?`;
    const candidates = [...versioned(asked), ...nearestNames(asked, [...methodsByPath.keys()])];
    const found = candidates.find((one) => methodsByPath.get(one)?.has(method)) ??
      candidates.find((one) => methodsByPath.has(one));
    if (found === undefined) return "";
    const shown = methodsByPath.get(found)!.has(method)
      ? method
      : [...methodsByPath.get(found)!][0];
    const family = familyOf.get(asked.split("/", 2)[1] ?? "");
    const isElsewhere = family && !familyOf.has(found.split("/", 2)[1] ?? "");
    const why = isElsewhere
      ? ` The family of ${family.name} takes ${family.dialects.join(", ")};`
      : "";
    return `${why} ${why === "" ? "Did you mean" : "for its models use"} ${shown} ${found}${
      why === "" ? "?" : "."
    }`;
  };
}

/** The methods of each path without parameters. */
function endpointsOf(families: readonly VendorFamily[]): Map<string, Set<string>> {
  const methodsByPath = new Map<string, Set<string>>();
  const all = [contracts, ...families.map(familyContracts)].flatMap(addressedIn);
  for (const { method, path, aliases = [] } of all) {
    for (const one of [path, ...aliases]) {
      if (one.includes("{")) continue;
      const methods = methodsByPath.get(one) ?? new Set();
      methodsByPath.set(one, methods.add(method.toUpperCase()));
    }
  }
  return methodsByPath;
}

/** The same endpoint where it is: `/openai/chat/completions` and `/chat/completions` lack `/v1`. */
function versioned(path: string): string[] {
  const [, first = "", ...rest] = path.split("/");
  const tail = rest.filter((segment) => !/^v\d/.test(segment)).join("/");
  const whole = [first, ...rest].filter((segment) => !/^(v\d\w*|api)$/.test(segment)).join("/");
  return [`/${first}/v1/${tail}`, `/chat/v1/${whole}`, `/chat/v1/${tail}`];
}

function addressedIn(value: object | undefined): Addressed[] {
  if (value === undefined) return [];
  return "patterns" in value ? [value as Contract] : Object.values(value).flatMap(addressedIn);
}
