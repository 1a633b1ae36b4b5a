import type { CanonicalEvent } from "../../src/dialects/kernel/canonical.ts";
import type {
  CanonicalRequest,
  Part,
  Tool,
  Turn,
} from "../../src/dialects/kernel/canonical_request.ts";
import type { Usage } from "../../src/shared/usage.ts";
import { Random } from "./random.ts";

/** Random requests and answers that the messages dialect can carry without loss, by seed. */
export class MessagesSamples extends Random {
  #ids = 0;

  list<T>(most: number, make: () => T): T[] {
    return Array.from({ length: this.below(most + 1) }, make);
  }

  words(): string {
    const words = ["a", "Hé", "日本", '"', "\\", "\n\n", "🙂", "data:", " x", "{}"];
    return `${this.pick(["w", "z"])}${this.list(6, () => this.pick(words)).join("")}.`;
  }

  jsonText(): string {
    const value = this.list(3, () => [this.words(), this.pick([1, null, true, ["x"], { k: 0.5 }])]);
    return JSON.stringify(Object.fromEntries(value));
  }

  /** Makes the events of an answer, with parallel tool calls interleaved. */
  answer(): CanonicalEvent[] {
    const blocks: CanonicalEvent[][] = this.list(5, () => this.#block());
    blocks.forEach((events, block) => events.forEach((event) => Object.assign(event, { block })));
    const hasTools = blocks.some(([first]) =>
      first?.type === "block-start" && first.content.kind === "tool-call"
    );
    return [
      { type: "start", id: "upstream", model: "model-x", created: undefined },
      ...this.#interleave(blocks),
      ...this.#ending(hasTools),
    ];
  }

  #ending(hasTools: boolean): CanonicalEvent[] {
    const reason = this.chance(20) ? "length" : hasTools ? "tool_calls" : "stop";
    const raw = reason === "length" ? "max_tokens" : "as the vendor says";
    const stopped = reason === "stop" && this.chance(30) ? { stopSequence: "END" } : {};
    const events: CanonicalEvent[] = [
      { type: "finish", choice: 0, reason, raw, ...stopped },
      { type: "usage", usage: this.usage() },
    ];
    return this.chance(50) ? events : events.reverse();
  }

  usage(): Usage {
    const cacheRead = this.below(100);
    const cacheWrite = this.below(100);
    const cacheWriteLong = this.below(100);
    const isSplit = this.chance(50);
    const cached = cacheRead + cacheWrite + (isSplit ? cacheWriteLong : 0);
    return {
      input: this.below(1000) + cached,
      cacheRead,
      cacheWrite,
      ...(isSplit ? { cacheWriteLong } : {}),
      output: 10 + this.below(100),
      ...(this.chance(50) ? { reasoning: this.below(10) } : {}),
      ...(this.chance(30) ? { webSearches: this.below(3) } : {}),
    };
  }

  #block(): CanonicalEvent[] {
    const at = { choice: 0, block: 0 };
    const kind = this.pick(["text", "reasoning", "tool", "tool", "vendor"]);
    const pieces = (text: string): CanonicalEvent[] =>
      this.cut(text).map((one) => ({ type: "block-delta", ...at, text: one }));
    const end: CanonicalEvent = { type: "block-end", ...at };
    switch (kind) {
      case "text":
        return [
          { type: "block-start", ...at, content: { kind: "text" } },
          ...pieces(this.words()),
          end,
        ];
      case "reasoning": {
        const sealed = this.pick(["signature", "redacted", undefined]);
        const text = sealed === "redacted" ? "" : this.words();
        const opaque = sealed && { dialect: "messages" as const, kind: sealed, value: "seal==" };
        return [
          { type: "block-start", ...at, content: { kind: "reasoning" } },
          ...pieces(text),
          { ...end, ...(opaque ? { opaque } : {}) },
        ];
      }
      case "tool": {
        const id = `call_${this.#ids++}`;
        const content = { kind: "tool-call" as const, id, name: "f", custom: false };
        return [{ type: "block-start", ...at, content }, ...pieces(this.jsonText()), end];
      }
      default: {
        const value = {
          type: "server_tool_use",
          id: `s${this.#ids++}`,
          name: "w",
          input: { q: 1 },
        };
        const content = { kind: "vendor" as const, dialect: "messages" as const, value };
        return [{ type: "block-start", ...at, content }, end];
      }
    }
  }

  /** Cuts a text into pieces, never within a character. */
  cut(text: string): string[] {
    const pieces: string[] = [];
    for (const character of text) {
      if (pieces.length === 0 || this.chance(30)) pieces.push(character);
      else pieces[pieces.length - 1] += character;
    }
    return pieces;
  }

  /** Interleaves neighbouring tool calls; their starts keep their order. */
  #interleave(blocks: readonly CanonicalEvent[][]): CanonicalEvent[] {
    const events: CanonicalEvent[] = [];
    let open: CanonicalEvent[][] = [];
    const drain = () => {
      while (open.length > 0) {
        const one = this.pick(open);
        events.push(one.shift()!);
        open = open.filter((rest) => rest.length > 0);
      }
    };
    for (const block of blocks) {
      const [first, ...rest] = block;
      const isTool = first?.type === "block-start" && first.content.kind === "tool-call";
      if (!isTool) drain();
      events.push(first!);
      open.push(rest);
      if (!isTool) drain();
    }
    drain();
    return events;
  }

  /** Makes a request that `claude-haiku-4-5` takes without loss. */
  request(): CanonicalRequest {
    const thinks = this.chance(40);
    const tools = this.list(2, () => this.#tool());
    const isForced = tools.length > 0 && !thinks && this.chance(30);
    return {
      model: "claude-haiku-4-5",
      stream: this.chance(50),
      system: this.list(2, () => ({ text: this.words(), ...this.#cache(), path: "" })),
      turns: this.#turns(tools, thinks),
      tools,
      maxOutputTokens: 2_000 + this.below(1_000),
      ...(thinks ? { reasoning: { budgetTokens: 1_024 + this.below(900), show: true } } : {}),
      ...(thinks || this.chance(50) ? {} : { temperature: this.below(10) / 10 }),
      ...(thinks || this.chance(50) ? {} : { topK: this.below(50) }),
      ...(this.chance(30) ? { stop: ["END"] } : {}),
      ...(this.chance(30) ? { user: "u" } : {}),
      ...(this.chance(30) ? { serviceTier: this.pick(["auto", "default"]) } : {}),
      ...(tools.length > 0 && this.chance(50)
        ? { toolChoice: { mode: isForced ? "required" as const : this.pick(["auto", "none"]) } }
        : {}),
      ...(this.chance(30) ? { format: this.#format() } : {}),
      unsupported: [],
      paths: {},
    };
  }

  #format(): NonNullable<CanonicalRequest["format"]> {
    return { type: "json-schema", name: "output", schema: this.#schema(), strict: true };
  }

  #schema(): Record<string, unknown> {
    return {
      type: "object",
      properties: { a: { type: "string", description: this.words() }, b: { type: "integer" } },
      required: ["a"],
      additionalProperties: false,
    };
  }

  #tool(): Tool {
    return {
      type: "function",
      name: `tool_${this.#ids++}`,
      parameters: this.#schema(),
      ...(this.chance(50) ? { description: this.words() } : {}),
      ...(this.chance(30) ? { strict: true } : {}),
      path: "",
    };
  }

  /** Sets a cache mark now and then, at most four as the vendor allows. */
  #cache(): { cache?: { ttl: "5m" | undefined } } {
    return this.chance(20) && this.#ids++ < 4
      ? { cache: { ttl: this.pick(["5m", undefined]) } }
      : {};
  }

  #turns(tools: readonly Tool[], thinks: boolean): Turn[] {
    const turns: Turn[] = [
      this.#turn("user", [this.#text(), ...this.list(1, () => this.#image())]),
    ];
    for (let round = this.below(3); round > 0; round--) {
      const calls = tools.length === 0 ? [] : this.list(2, () => this.#call(this.pick(tools).name));
      const thought = thinks ? [this.#reasoning()] : [];
      turns.push(this.#turn("assistant", [...thought, this.#text(), ...calls]));
      const results = calls.map((call) => this.#result(call.id));
      turns.push(this.#turn("user", [...results, this.#text()]));
    }
    return turns;
  }

  #turn(role: Turn["role"], parts: Part[]): Turn {
    return { role, parts, path: "" };
  }

  #text(): Extract<Part, { type: "text" }> {
    return { type: "text", text: this.words(), path: "" };
  }

  #image(): Extract<Part, { type: "media" }> {
    const source = this.pick([
      { type: "base64" as const, mimeType: "image/png", data: "iVBORw0KGgo=" },
      { type: "url" as const, url: "https://a.example/i.png", mimeType: undefined },
    ]);
    return { type: "media", kind: "image", source, path: "" };
  }

  #call(name: string): Extract<Part, { type: "tool-call" }> {
    const id = `call_${this.#ids++}`;
    return { type: "tool-call", id, name, arguments: this.jsonText(), custom: false, path: "" };
  }

  #result(callId: string): Part {
    const parts = this.chance(50) ? [this.#text()] : [this.#text(), this.#image()];
    return { type: "tool-result", callId, parts, isError: this.chance(20), path: "" };
  }

  #reasoning(): Part {
    const kind = this.pick(["signature", "redacted"]);
    const opaque = { dialect: "messages", kind, value: "seal==" } as const;
    return { type: "reasoning", text: kind === "redacted" ? "" : this.words(), opaque, path: "" };
  }
}
