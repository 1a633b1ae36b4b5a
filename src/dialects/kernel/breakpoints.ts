import { sha256Hex } from "../../base/hash.ts";
import type {
  CacheMark,
  CanonicalRequest,
  Loss,
  MediaPart,
  TextPart,
  ToolResultPart,
} from "./canonical_request.ts";
import { markPath } from "./read_cache_mark.ts";
import type { Target } from "./dialect.ts";
import { settingPath } from "./setting_losses.ts";

/** Maximum number of marks in one request (openai 7.57, `prompt_cache_options`). */
const maxMarks = 4;

/**
 * Writes cache marks for chat and responses vendors: `prompt_cache_breakpoint` on parts, or
 * `cache_control` if the vendor accepts that. Marks on elements that can't have one (tools, calls,
 * the assistant's text, empty texts) are reported as losses at once; if the vendor accepts no marks,
 * all of them are losses.
 */
export class Breakpoints {
  readonly #target: Target;
  readonly #losses: Loss[];
  readonly #request: CanonicalRequest;
  /**
   * Whether the request has marks that the vendor accepts. If so, every text is written as a part,
   * marked or not: an agent moves the mark forward with each round, and the text that loses its
   * mark must keep its form, or the vendor's cache doesn't match it.
   */
  readonly hasMarks: boolean;
  #room: number;

  constructor(request: CanonicalRequest, target: Target, losses: Loss[]) {
    this.#request = request;
    this.#target = target;
    this.#losses = losses;
    const { carried, others } = marksOf(request);
    // If there are too many marks, the last ones are kept: the longest prefix saves most.
    this.#room = carried - maxMarks;
    this.hasMarks = target.cacheMarks !== undefined && carried > 0;
    for (const path of others) this.#lose(path);
  }

  mark(
    part: Record<string, unknown>,
    of: { cache?: CacheMark; path: string },
  ): Record<string, unknown> {
    if (!of.cache || isEmptyText(part)) return part;
    const path = markPath(of.cache, of.path);
    const form = this.#target.cacheMarks;
    if (form === undefined || this.#room-- > 0) {
      this.#lose(path);
      return part;
    }
    const { ttl } = of.cache;
    if (form === "ephemeral") {
      return {
        ...part,
        cache_control: { type: "ephemeral", ...(ttl === undefined ? {} : { ttl }) },
      };
    }
    const isOurs = path.endsWith("prompt_cache_breakpoint");
    // `1h` is the long lifetime of `cache_control`; that of breakpoints is 12 hours and costs more.
    if (ttl === "1h" && !isOurs) this.#lose(`${path}.ttl`);
    const long = ttl === "1h" && isOurs ? { ttl: "12h" } : {};
    return { ...part, prompt_cache_breakpoint: { mode: "explicit", ...long } };
  }

  /**
   * Returns the parts of a tool result with the result's mark on the last one. The mark is reported
   * as a loss if that part has its own.
   */
  ofResult<P extends TextPart | MediaPart>(parts: readonly P[], result: ToolResultPart): P[] {
    const { cache, path } = result;
    if (!cache) return [...parts];
    const at = parts.findLastIndex((part) => !isEmptyText(part));
    const markedPath = markPath(cache, path);
    if (at >= 0 && !parts[at]!.cache) {
      return parts.with(at, { ...parts[at]!, cache: { ...cache, path: markedPath } });
    }
    this.#lose(markedPath);
    return [...parts];
  }

  /**
   * Returns the vendor's cache key: the caller's, or, if the request has marks, a key shared by all
   * calls with the same tools and system texts.
   */
  key(): string | undefined {
    const { promptCacheKey, tools, system } = this.#request;
    if (!this.#target.cacheSettings) {
      if (promptCacheKey !== undefined) this.#lose(settingPath(this.#request, "promptCacheKey"));
      return undefined;
    }
    if (promptCacheKey !== undefined) return promptCacheKey;
    const { carried, others } = marksOf(this.#request);
    if (carried + others.length === 0) return undefined;
    const beginning = [tools.map(({ name }) => name), system.map(({ text }) => text)];
    return `prefix_${sha256Hex(JSON.stringify(beginning)).slice(0, 32)}`;
  }

  #lose(path: string): void {
    this.#losses.push({ path, weight: "hint" });
  }
}

/** The number of marks on parts that can have one, and the paths of the others. */
function marksOf(request: CanonicalRequest): { carried: number; others: string[] } {
  let carried = 0;
  const others: string[] = [];
  const look = (one: { path: string; cache?: CacheMark }, canHave: boolean) => {
    if (!one.cache) return;
    if (canHave) carried++;
    else others.push(markPath(one.cache, one.path));
  };
  for (const tool of request.tools) look(tool, false);
  if (request.webSearch) look(request.webSearch, false);
  for (const text of request.system) look(text, !isEmptyText(text));
  for (const { role, parts } of request.turns) {
    for (const part of parts) {
      if (part.type === "tool-result") {
        look(part, true);
        for (const one of part.parts) look(one, !isEmptyText(one));
      } else if ("cache" in part) {
        const isInput = part.type === "text" || (part.type === "media" && part.kind !== "audio");
        look(part, role !== "assistant" && isInput && !isEmptyText(part));
      }
    }
  }
  return { carried, others };
}

/** Such a text is written without a mark, or not at all. */
function isEmptyText(part: object): boolean {
  return "text" in part && part.text === "";
}
