import type { Random } from "../../support/random.ts";
import type { FuzzedOperation } from "./operations.ts";

/**
 * Ids that the service gave, by the path of what can be asked for by them, so that requests meet
 * what is there: the answer to `POST /api/v1/evals` names one of `/api/v1/evals/{eval_run_id}`.
 */
export class KnownIds {
  readonly #byPath: Map<string, string[]>;

  constructor(operations: readonly FuzzedOperation[]) {
    const paths = operations.map(({ path }) => beforeId(path)).filter((path) => path !== undefined);
    this.#byPath = new Map(paths.map((path) => [path, []]));
  }

  /** Keeps what an answer to the path names. */
  keep(path: string, text: string): void {
    const below = [...this.#byPath].filter(([one]) => one.startsWith(path));
    for (const [, ids] of below) ids.push(...idsIn(text).filter((id) => !ids.includes(id)));
    for (const [, id] of text.matchAll(/"transaction_id":"([^"]{1,100})"/g)) {
      if (path === "/api/v1/interactions") this.#byPath.get(`${path}/`)?.push(id!);
    }
    for (const [, sha256] of text.matchAll(/\/api\/v1\/media\/([0-9a-f]{64})/g)) {
      this.#byPath.get("/api/v1/media/")?.push(sha256!);
    }
  }

  /** One of the last few, since the older may have been deleted. */
  pick(path: string, random: Random): string | undefined {
    const ids = this.#byPath.get(beforeId(path) ?? "") ?? [];
    return ids.length === 0 ? undefined : random.pick(ids.slice(-5));
  }

  /** Takes the first away, for who deletes it: that of an example, which is kept for sure. */
  take(path: string): string | undefined {
    return this.#byPath.get(beforeId(path) ?? "")?.shift();
  }
}

/** The answer's own ids, not those of what it holds. */
function idsIn(text: string): string[] {
  // Lines of JSON are rows of an export.
  if (!text.startsWith("{") || text.includes("}\n{")) return [];
  return Object.entries(JSON.parse(text)).filter(([name]) => /(^|_)id$/.test(name)).map(([, id]) =>
    String(id)
  );
}

/** `/api/v1/exports/` of `/api/v1/exports/{request_id}/stream`; models are no ids. */
function beforeId(path: string): string | undefined {
  return /^(.*\/)\{(?!model)\w+\}/.exec(path)?.[1];
}
