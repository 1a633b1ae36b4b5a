import type { Endpoint } from "./bind.ts";

/** An endpoint, and the path parameters that its pattern matched. */
export interface FoundEndpoint {
  readonly endpoint: Endpoint;
  readonly params: Readonly<Record<string, string>>;
}

/**
 * Endpoints by method and path, found without a router: paths without parameters, and methods of a
 * model (`/google/v1/models/gemini-x:generateContent`). Other patterns are left to the web framework,
 * and so are paths that have to be decoded or normalized first.
 */
export class DirectEndpoints {
  readonly #exact = new Map<string, FoundEndpoint>();
  readonly #methods = new Map<string, { readonly endpoint: Endpoint; readonly param: string }>();

  /** Adds an endpoint. `pattern` is in the router's syntax; unsupported ones are skipped. */
  add(method: string, pattern: string, endpoint: Endpoint): void {
    // A start adds hundreds of patterns, few of them with methods: most skip the slow expression.
    const [, prefix, param = "", name] = (pattern.endsWith("}") && modelMethod.exec(pattern)) || [];
    if (prefix !== undefined) {
      this.#methods.set(`${method} ${prefix} ${name}`, { endpoint, param });
    } else if (!/[:*]/.test(pattern)) {
      this.#exact.set(`${method} ${pattern}`, { endpoint, params: {} });
    }
  }

  find(method: string, path: string): FoundEndpoint | undefined {
    const exact = this.#exact.get(`${method} ${path}`);
    if (exact !== undefined) return exact;
    const colon = path.lastIndexOf(":");
    if (colon < 0) return undefined;
    // The model begins after `/v1/` or `/google/v1/`.
    const first = path.indexOf("/", 1) + 1;
    const begin = /^\/v1(beta)?\//.test(path) ? first : path.indexOf("/", first) + 1;
    const found = this.#methods.get(`${method} ${path.slice(0, begin)} ${path.slice(colon + 1)}`);
    if (found === undefined || !plainName.test(path.slice(begin, colon))) return undefined;
    return { endpoint: found.endpoint, params: { [found.param]: path.slice(begin) } };
  }
}

/** Matches patterns of a model with a method: `/google/v1/:model{(?:.|\s)+:generateContent}`. */
const modelMethod = /^((?:\/[^/:*{]+){1,2}\/):(\w+)\{[^{}]*:(\w+)\}$/;

/** No segment is empty or begins with a dot, and nothing is encoded. */
const plainName = /^[\w-][\w.-]*(?:\/[\w-][\w.-]*)*$/;
