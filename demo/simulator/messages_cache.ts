import { asNumber, asObject, asText, type JsonObject, objectsIn } from "./json.ts";
import { invalid } from "./messages_problems.ts";
import { type VendorState } from "./state.ts";
import { countPromptTokens } from "./tokens.ts";

/** Prompt tokens in the vendor's three disjoint buckets. */
export interface PromptTokens {
  uncached: number;
  read: number;
  written5m: number;
  written1h: number;
}

const MOST_BREAKPOINTS = 4;

interface Segment {
  tokens: number;
  text: string;
  /** Time to live of the breakpoint at its end; null if it has none. */
  breakpoint: string | null;
}

/** How many blocks before a breakpoint are searched for a prefix that was written before. */
const LOOK_BACK = 20;

/**
 * Counts a prompt with its cache breakpoints: the longest prefix that was written before is read, up
 * to a breakpoint or one of the 20 blocks before it; the rest up to the last breakpoint is written.
 * Unlike the real vendor's, this cache accepts prompts of any length.
 */
export function countCached(body: JsonObject, state: VendorState): PromptTokens {
  const segments = segmentsOf(body);
  const breakpoints = segments.filter((segment) => segment.breakpoint !== null);
  if (breakpoints.length > MOST_BREAKPOINTS) {
    throw invalid(
      "",
      `A maximum of 4 blocks with cache_control may be provided. Found ${breakpoints.length}.`,
    );
  }
  let total = 0;
  let prefix = asText(body.model);
  let read = 0;
  let marked = 0;
  let lifetime = "5m";
  const prefixes: string[] = [];
  const before: { prefix: string; total: number }[] = [];
  for (const segment of segments) {
    total += segment.tokens;
    prefix += `\n${segment.text}`;
    before.push({ prefix, total });
    if (segment.breakpoint === null) continue;
    if (segment.breakpoint === "1h" && lifetime === "5m" && marked > 0) {
      throw invalid("", "a ttl='1h' cache_control block must not come after a ttl='5m' block");
    }
    lifetime = segment.breakpoint;
    marked = total;
    const found = before.slice(-LOOK_BACK - 1)
      .findLast((one) => state.isCached(one.prefix, "read"));
    if (found) read = Math.max(read, found.total);
    prefixes.push(prefix);
  }
  for (const one of prefixes) state.isCached(one);
  const written = marked - read;
  return {
    uncached: total - marked,
    read,
    written5m: lifetime === "5m" ? written : 0,
    written1h: lifetime === "1h" ? written : 0,
  };
}

function segmentsOf(body: JsonObject): Segment[] {
  const blocks: JsonObject[] = [
    ...objectsIn(body.tools),
    ...(typeof body.system === "string"
      ? [{ type: "text", text: body.system }]
      : objectsIn(body.system)),
    ...objectsIn(body.messages).flatMap((message): JsonObject[] =>
      typeof message.content === "string"
        ? [{ type: "text", text: message.content, role: message.role }]
        : objectsIn(message.content)
    ),
  ];
  const segments = blocks.map((block) => {
    const { cache_control, ...content } = block;
    const mark = asObject(cache_control);
    return {
      tokens: countPromptTokens(content),
      text: JSON.stringify(content),
      breakpoint: mark ? asText(mark.ttl, "5m") : null,
    };
  });
  const last = segments.at(-1);
  const whole = asObject(body.cache_control);
  if (last && whole) last.breakpoint = asText(whole.ttl, "5m");
  return segments;
}

/** Returns all prompt tokens together, as `count_tokens` reports them. */
export function countUncached(body: JsonObject): number {
  return segmentsOf(body).reduce((sum, segment) => sum + (asNumber(segment.tokens) ?? 0), 0);
}
