import { bytes, type FuzzedRequest } from "./requests.ts";

/** How many smaller requests are sent for one that fails. */
const maxTries = 200;

/**
 * The request without everything that it fails without as well: headers, parameters of the query,
 * members of the body. `fails` sends a request and returns whether it fails in the same way.
 */
export async function smallest(
  request: FuzzedRequest,
  fails: (smaller: FuzzedRequest) => Promise<boolean>,
): Promise<FuzzedRequest> {
  let tries = 0;
  /** Leaves out one part after the other, as long as the rest still fails. */
  const reduce = async (from: FuzzedRequest, parts: (of: FuzzedRequest) => Smaller[]) => {
    let current = from;
    for (let at = 0; tries < maxTries;) {
      const smaller = parts(current)[at]?.();
      if (smaller === undefined) break;
      tries++;
      if (await fails(smaller)) current = smaller;
      else at++;
    }
    return current;
  };
  return await reduce(await reduce(await reduce(request, fewerHeaders), shorterQuery), smallerBody);
}

/** A request with one thing less. Made when it is its turn, since most of a large body never is. */
type Smaller = () => FuzzedRequest;

function fewerHeaders(request: FuzzedRequest): Smaller[] {
  return Object.keys(request.headers).map((name) => () => {
    const { [name]: _, ...headers } = request.headers;
    return { ...request, headers };
  });
}

function shorterQuery(request: FuzzedRequest): Smaller[] {
  const [path, query] = request.target.split("?");
  const pairs = query?.split("&") ?? [];
  return pairs.map((_, at) => () => {
    const rest = pairs.toSpliced(at, 1).join("&");
    return { ...request, target: rest === "" ? path! : `${path}?${rest}` };
  });
}

/** The JSON body without one of its members, outer ones first; none if it isn't JSON. */
function smallerBody(request: FuzzedRequest): Smaller[] {
  let value: unknown;
  try {
    value = JSON.parse(new TextDecoder().decode(request.body));
  } catch {
    return [];
  }
  return memberPaths(value).map((path) => () => ({
    ...request,
    body: bytes(JSON.stringify(without(value, path))),
  }));
}

function memberPaths(value: unknown): string[][] {
  const found: string[][] = [];
  const next: [string[], unknown][] = [[[], value]];
  for (const [path, inner] of next) {
    if (typeof inner !== "object" || inner === null) continue;
    for (const [key, member] of Object.entries(inner)) {
      found.push([...path, key]);
      next.push([[...path, key], member]);
    }
  }
  return found;
}

function without(value: unknown, path: readonly string[]): unknown {
  const copy = structuredClone(value);
  let owner = copy as Record<string, unknown>;
  for (const key of path.slice(0, -1)) owner = owner[key] as Record<string, unknown>;
  const last = path.at(-1)!;
  if (Array.isArray(owner)) owner.splice(Number(last), 1);
  else delete owner[last];
  return copy;
}
