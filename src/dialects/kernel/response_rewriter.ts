import { topLevelMembers } from "../../base/json_text.ts";
import { Fault } from "../../shared/fault.ts";
import type {
  BlockDeltaEvent,
  BlockEndEvent,
  BlockStartEvent,
  CanonicalEvent,
  FinishEvent,
} from "./canonical.ts";
import { innerJson, isRecord } from "./json.ts";
import type { Emulations } from "./dialect.ts";

/** A block whose pieces are held until it ends, then emitted as one repaired text. */
interface Gathered {
  pieces: string[];
  transform: (whole: string) => string;
}

/**
 * Reverses in an answer's events what was emulated in its request, for every dialect: aliases of
 * tool names, custom tools sent as functions, JSON answers sent as a forced tool. It also gives an
 * id to tool calls without one, so that the record, the caller and the stored reasoning use the
 * same id.
 */
export class ResponseRewriter {
  readonly #emulations: Emulations;
  readonly #newCallId: () => string;
  readonly #gathered = new Map<number, Gathered>();
  /** Text per choice, held back while an answer through the JSON tool may follow. */
  readonly #held = new Map<number, CanonicalEvent[]>();
  readonly #heldBlocks = new Set<number>();
  /** Choices that answered through the JSON tool, and choices that called another tool. */
  readonly #jsonChoices = new Set<number>();
  readonly #toolChoices = new Set<number>();
  readonly #customTools: ReadonlySet<string>;

  constructor(emulations: Emulations, newCallId: () => string) {
    this.#emulations = emulations;
    this.#customTools = new Set(emulations.customTools);
    this.#newCallId = newCallId;
  }

  /**
   * The events that replace this one. Throws upstream_invalid_tool_call for a call without a name.
   */
  apply(event: CanonicalEvent): CanonicalEvent[] {
    return this.#emulations.jsonTool === undefined ? this.#apply(event) : this.#applyHolding(event);
  }

  /** Whether `apply` would return just this event: nothing is gathered or held back. */
  keeps(event: CanonicalEvent): boolean {
    return event.type === "block-delta" && this.#gathered.size === 0 &&
      this.#emulations.jsonTool === undefined;
  }

  /**
   * Holds text back until its role is known: if the JSON tool isn't called, the text is the answer;
   * otherwise it is dropped, so that the answer is only the JSON.
   */
  #applyHolding(event: CanonicalEvent): CanonicalEvent[] {
    const isBlocks = event.type === "block-delta" || event.type === "block-end" ||
      event.type === "citation";
    if (isBlocks && this.#heldBlocks.has(event.block)) return this.#hold(event);
    if (event.type === "block-start" && event.content.kind === "text") {
      this.#heldBlocks.add(event.block);
      return this.#hold(event);
    }
    if (event.type === "block-start" && event.content.kind === "tool-call") {
      if (event.content.name === this.#emulations.jsonTool) this.#held.delete(event.choice);
      else return [...this.#release(event.choice), ...this.#apply(event)];
    }
    if (event.type === "finish") return [...this.#release(event.choice), ...this.#apply(event)];
    return this.#apply(event);
  }

  #hold(event: CanonicalEvent & { choice: number }): CanonicalEvent[] {
    const held = this.#held.get(event.choice);
    if (held) held.push(event);
    else this.#held.set(event.choice, [event]);
    return [];
  }

  /** Releases the text held back, unless the JSON tool was the answer. */
  #release(choice: number): CanonicalEvent[] {
    const held = this.#jsonChoices.has(choice) ? [] : this.#held.get(choice) ?? [];
    this.#held.delete(choice);
    return held.flatMap((event) => this.#apply(event));
  }

  #apply(event: CanonicalEvent): CanonicalEvent[] {
    switch (event.type) {
      case "block-start":
        return [this.#start(event)];
      case "block-delta":
        return this.#delta(event);
      case "block-end":
        return this.#end(event);
      case "finish":
        return [this.#finish(event)];
      default:
        return [event];
    }
  }

  #start(event: BlockStartEvent): BlockStartEvent {
    const { content } = event;
    const { jsonTool, jsonUnwrap: member, stripFence: isFenced } = this.#emulations;
    if (content.kind === "text" && isFenced) {
      this.#gather(event.block, stripFence);
      return event;
    }
    if (content.kind === "text" && member !== undefined && jsonTool === undefined) {
      this.#gather(event.block, (whole) => unwrap(whole, member));
      return event;
    }
    if (content.kind !== "tool-call") return event;
    if (content.name === jsonTool) {
      this.#jsonChoices.add(event.choice);
      if (member !== undefined) this.#gather(event.block, (whole) => unwrap(whole, member));
      return { ...event, content: { kind: "text" } };
    }
    if (content.name === "") {
      throw new Fault("upstream_invalid_tool_call", { note: "a tool call without a name" });
    }
    this.#toolChoices.add(event.choice);
    const name = Object.hasOwn(this.#emulations.toolNames, content.name)
      ? this.#emulations.toolNames[content.name]!
      : content.name;
    const custom = content.custom || this.#customTools.has(name);
    if (custom && !content.custom) this.#gather(event.block, (whole) => unwrap(whole, "input"));
    return {
      ...event,
      content: { ...content, id: content.id || this.#newCallId(), name, custom },
    };
  }

  #delta(event: BlockDeltaEvent): CanonicalEvent[] {
    const gathered = this.#gathered.get(event.block);
    if (!gathered) return [event];
    gathered.pieces.push(event.text);
    return [];
  }

  #end(event: BlockEndEvent): CanonicalEvent[] {
    const gathered = this.#gathered.get(event.block);
    if (!gathered) return [event];
    this.#gathered.delete(event.block);
    const text = gathered.transform(gathered.pieces.join(""));
    const { choice, block } = event;
    return text === "" ? [event] : [{ type: "block-delta", choice, block, text }, event];
  }

  /** An answer given only through the JSON tool finishes with `stop`. */
  #finish(event: FinishEvent): FinishEvent {
    const onlyJson = this.#jsonChoices.has(event.choice) && !this.#toolChoices.has(event.choice);
    return onlyJson && event.reason === "tool_calls" ? { ...event, reason: "stop" } : event;
  }

  #gather(block: number, transform: (whole: string) => string): void {
    this.#gathered.set(block, { pieces: [], transform });
  }
}

/**
 * Returns the text of a member's value as it was written: parsing would lose digits of a long
 * number. The string `input` of a custom tool is returned as its value.
 */
function unwrap(whole: string, member: string): string {
  const json = innerJson(whole);
  // The output limit cut the JSON off: the text so far is left unchanged.
  if (!isRecord(json) || !(member in json)) return whole;
  const value = json[member];
  if (typeof value === "string" && member === "input") return value;
  const { valueStart, valueEnd } = topLevelMembers(whole)!.members.get(member)!;
  return whole.slice(valueStart, valueEnd);
}

/**
 * Returns the text inside the code fence around it, or the text itself if there is none. Uses no
 * regular expression for the whole, which would try every line.
 */
function stripFence(whole: string): string {
  const text = whole.trim();
  const opening = /^```\w*/.exec(text)?.[0].length;
  if (opening === undefined || !text.endsWith("```")) return whole;
  let start = opening;
  let lineEnd = -1;
  for (; start < text.length && text[start]!.trim() === ""; start++) {
    if (text[start] === "\n") lineEnd = start;
  }
  const end = text.length - "```".length;
  if (lineEnd < 0 || lineEnd >= end) return whole;
  return text.slice(lineEnd + 1, Math.max(lineEnd + 1, text[end - 1] === "\n" ? end - 1 : end));
}
