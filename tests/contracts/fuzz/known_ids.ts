import type { Random } from "../../support/random.ts";
import type { FuzzedOperation } from "./operations.ts";

/**
 * Ids that the service gave, by the path of what can be asked for by them, so that requests meet
 * what is there: the answer to `POST /api/v1/evals` names one of `/api/v1/evals/{eval_run_id}`.
 */
export class KnownIds {
  readonly #byPath: Map<string, string[]>;
  /** The path → which fields of an answer name what stands behind it. */
  readonly #fields: Map<string, RegExp>;

  constructor(operations: readonly FuzzedOperation[]) {
    const paths = operations.map(({ path }) => beforeId(path)).filter((path) => path !== undefined);
    this.#byPath = new Map(paths.map((path) => [path, []]));
    this.#fields = new Map(operations.map(({ path }) => [
      beforeId(path) ?? "",
      namedBy(/\{(\w+)\}/.exec(path)?.[1]),
    ]));
  }

  /** Keeps what an answer to the path names. */
  keep(path: string, text: string): void {
    const below = [...this.#byPath].filter(([one]) => one.startsWith(path));
    for (const [before, ids] of below) {
      const named = idsIn(text, this.#fields.get(before)!);
      ids.push(...named.filter((id) => !ids.includes(id)));
    }
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

  /** The first one: that of an example, which is certainly stored. */
  oldest(before: string): string | undefined {
    return this.#byPath.get(before)?.[0];
  }

  /** One after the other by turns, the newest first. */
  byTurn(path: string, turn: number): string | undefined {
    const ids = this.#byPath.get(beforeId(path) ?? "") ?? [];
    return ids.at(-1 - turn % ids.length);
  }

  /** Removes the oldest one, to be deleted. */
  take(path: string): string | undefined {
    return this.#byPath.get(beforeId(path) ?? "")?.shift();
  }
}

/** The answer's own ids, not those of what it holds. */
function idsIn(text: string, field: RegExp): string[] {
  // Lines of JSON are rows of an export.
  if (!text.startsWith("{") || text.includes("}\n{")) return [];
  return Object.entries(JSON.parse(text)).filter(([name]) => field.test(name)).map(([, id]) =>
    String(id)
  );
}

/** Administration has plain names for what others call `request_id` or `eval_run_id`. */
function namedBy(parameter: string | undefined): RegExp {
  return ["id", "name", "vendor"].includes(parameter ?? "")
    ? new RegExp(`^${parameter}$`)
    : /(^|_)id$/;
}

/** `/api/v1/exports/` of `/api/v1/exports/{request_id}/stream`; models are no ids. */
function beforeId(path: string): string | undefined {
  return /^(.*\/)\{(?!model)\w+\}/.exec(path)?.[1];
}
