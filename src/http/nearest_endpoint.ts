import type { Contract } from "../../contracts/kernel/contract.ts";
import { contracts, familyContracts } from "../../contracts/mod.ts";
import type { VendorFamily } from "../../contracts/calls/vendors.ts";
import { nearestNames } from "../base/nearest_names.ts";

/** Suggests the endpoint that a request with an unknown method or path most likely meant. */
export type NearestEndpoint = (method: string, path: string) => string;

type Addressed = Pick<Contract, "method" | "path" | "aliases" | "patterns">;

/**
 * The existing paths with their HTTP methods. `models` has the paths with a method of a model: HTTP
 * methods by that method's name, by the path before the model.
 */
interface Endpoints {
  readonly exact: MethodsByPath;
  readonly models: ReadonlyMap<string, MethodsByPath>;
}

type MethodsByPath = ReadonlyMap<string, ReadonlySet<string>>;

/**
 * Creates a function whose suggestions are sentences to append to another one (` Did you mean POST
 * /chat/v1/chat/completions?`), or empty if nothing is close. It tries, in this order: the path
 * with another HTTP method; with a version added, or below `/chat/v1` or `/api/v1`, where
 * `/completions` is `/chat/completions`; on the paths of vendors that have it (images, speech); with a
 * typo corrected; what to do without files and batches. A path that ends with a model's method
 * (`:generateContent`) keeps its model.
 */
export function createNearestEndpoint(families: readonly VendorFamily[]): NearestEndpoint {
  // Built at the first wrong path, so that it doesn't slow down the start.
  let endpoints: Endpoints | undefined;
  const familyOf = new Map(
    families.flatMap((family) =>
      [family.label, ...family.aliases].map((name) => [name, family] as const)
    ),
  );
  return (method, path) => {
    const existing = endpoints ??= endpointsOf(families);
    const asked = path.length > 1 ? path.replace(/\/$/, "") : path;
    const methods = existing.exact.get(asked);
    if (methods) return ` Did you mean ${[...methods].join(" or ")} ${asked}?`;
    const others = elsewhere(asked);
    const moved = movedTo(existing, asked, others);
    const own = moved.length > 0 ? [] : onVendors(existing.exact, families, others);
    if (own.length > 0) {
      const [verb] = existing.exact.get(own[0]!)!;
      return ` It is on the vendors' own paths: ${verb} ${own.join(", ")}.`;
    }
    const candidates = moved.length > 0 ? moved : misspelt(existing.exact, asked);
    const found = candidates.find(({ methods }) => methods.has(method)) ?? candidates[0];
    if (found === undefined) return lacking(asked);
    const shown = `${found.methods.has(method) ? method : [...found.methods][0]} ${found.path}`;
    const family = familyOf.get(asked.split("/", 2)[1] ?? "");
    const isElsewhere = family && !familyOf.has(found.path.split("/", 2)[1] ?? "");
    return isElsewhere
      ? ` The ${family.name} family accepts ${
        family.dialects.join(", ")
      }; for its models use ${shown}.`
      : ` Did you mean ${shown}?`;
  };
}

/** Says what to do where vendors have endpoints for files and batches, and the service has none. */
function lacking(path: string): string {
  if (/\/batches(?:\/|$)|:batch\w+$/.test(path)) {
    return " The service has no batches: send each request as a call.";
  }
  return /\/(?:files|uploads)(?:\/|$)/.test(path)
    ? " The service stores no files: send their content within a call."
    : "";
}

interface Candidate {
  readonly path: string;
  readonly methods: ReadonlySet<string>;
}

function movedTo(
  { exact, models }: Endpoints,
  asked: string,
  others: readonly string[],
): Candidate[] {
  return [
    ...[asked, ...others].flatMap((path) => modelMethodNear(models, path) ?? []),
    ...others.flatMap((path) => existingAt(exact, path)),
  ];
}

function misspelt(exact: MethodsByPath, asked: string): Candidate[] {
  return nearestNames(asked, [...exact.keys()])
    .filter((path) => isTypo(asked, path))
    .flatMap((path) => existingAt(exact, path));
}

/** Whether each segment is near by itself: a long path may differ in a whole short word. */
function isTypo(asked: string, path: string): boolean {
  const [written, existing] = [asked.split("/"), path.split("/")];
  return written.length !== existing.length ||
    written.every((segment, at) =>
      segment === existing[at] || nearestNames(segment, [existing[at]!]).length > 0
    );
}

function existingAt(exact: MethodsByPath, path: string): Candidate[] {
  const methods = exact.get(path);
  return methods ? [{ path, methods }] : [];
}

/** More paths would make the message hard to read. */
const maxVendorPaths = 8;

/** Returns the paths at which vendors have what the unified family (`/chat/v1/…`) hasn't. */
function onVendors(
  exact: MethodsByPath,
  families: readonly VendorFamily[],
  paths: readonly string[],
): string[] {
  const existing = paths.map((path) =>
    families.map(({ label, aliases: [name = label] }) => path.replace(/^\/chat\//, `/${name}/`))
      .filter((one) => one !== path && exact.has(one))
  );
  return (existing.find((found) => found.length > 0) ?? []).slice(0, maxVendorPaths);
}

/** Paths longer than this get no suggestion that would repeat their model. */
const longestModelPath = 200;

/** Corrects the model's method in a path such as `/google/v1/models/gemini-x:generateContnt`. */
function modelMethodNear(models: Endpoints["models"], path: string): Candidate | undefined {
  const [, begin = "", prefix = "", name = ""] = modelMethodPath.exec(path) ?? [];
  const methodsByName = models.get(prefix);
  if (methodsByName === undefined || path.length > longestModelPath) return undefined;
  const [near] = methodsByName.has(name) ? [name] : nearestNames(name, methodsByName.keys(), 1);
  return near === undefined
    ? undefined
    : { path: `${begin}:${near}`, methods: methodsByName.get(near)! };
}

/** Captures the path up to the method, the part of it before the model, and the method. */
const modelMethodPath = /^((\/(?:[^/:]+\/)?v\w+\/)[^:].*):(\w+)$/s;

/** Matches `/google/v1/:model{(?:.|\s)+:generateContent}`, in the router's syntax. */
const modelMethodPattern = /^((?:\/[^/:*{]+){1,2}\/):\w+\{[^{}]*:(\w+)\}$/;

function endpointsOf(families: readonly VendorFamily[]): Endpoints {
  const exact = new Map<string, Set<string>>();
  const models = new Map<string, Map<string, Set<string>>>();
  const all = [contracts, ...families.map(familyContracts)].flatMap(addressedIn);
  for (const { method, path, aliases = [], patterns } of all) {
    for (const one of [path, ...aliases]) {
      if (!one.includes("{")) add(exact, one, method);
    }
    for (const pattern of patterns) {
      const [, prefix, name] = modelMethodPattern.exec(pattern) ?? [];
      if (prefix === undefined || name === undefined) continue;
      const methodsByName = models.get(prefix) ?? new Map<string, Set<string>>();
      models.set(prefix, methodsByName);
      add(methodsByName, name, method);
    }
  }
  return { exact, models };
}

function add(methodsByPath: Map<string, Set<string>>, path: string, method: string): void {
  const methods = methodsByPath.get(path) ?? new Set();
  methodsByPath.set(path, methods.add(method.toUpperCase()));
}

/** Returns paths where the endpoint may be; older programs call `/completions`. */
function elsewhere(path: string): string[] {
  const chat = path.replace(/(?<!\/chat)\/completions$/, "/chat/completions");
  return chat === path ? versioned(path) : [chat, ...versioned(chat)];
}

/**
 * Returns paths where the endpoint may be: `/openai/chat/completions` and `/chat/completions` lack
 * `/v1`, which `/openai/v1/health` has too much, and `/v1/status` is below `/api`. In the unified
 * family the vendor comes after `models/`, as part of the model's name.
 */
function versioned(path: string): string[] {
  const [, first = "", ...rest] = path.split("/");
  const tail = rest.filter((segment) => !/^v\d/.test(segment)).join("/");
  const whole = [first, ...rest].filter((segment) => !/^(v\d\w*|api)$/.test(segment)).join("/")
    .replace(/^([^/]+)\/models\//, "models/$1/");
  const unprefixed = whole.replace(/^chat\//, "");
  return [
    ...[`/${first}/v1/${tail}`, `/${first}/${tail}`, `/chat/v1/${whole}`, `/chat/v1/${tail}`],
    `/api/v1/${unprefixed}`,
  ];
}

function addressedIn(value: object | undefined): Addressed[] {
  if (value === undefined) return [];
  return "patterns" in value ? [value as Contract] : Object.values(value).flatMap(addressedIn);
}
