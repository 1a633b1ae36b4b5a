/** Made-up canonical requests, with what a dialect can carry, or with everything there is. */
import type {
  CacheMark,
  CanonicalRequest,
  MediaPart,
  Opaque,
  Part,
  SettingName,
  TextPart,
  Tool,
  Turn,
} from "../../src/dialects/kernel/canonical_request.ts";
import type { Random } from "./random.ts";

/** What the requests of one dialect may hold. */
export interface Abilities {
  settings: Readonly<Partial<Record<SettingName, readonly unknown[]>>>;
  media: readonly MediaShape[];
  /** Media within results of tools, and in an assistant's turn. */
  resultMedia: boolean;
  /** Images within results may have a detail. */
  resultDetail: boolean;
  assistantMedia: boolean;
  customTools: boolean;
  strictTools: boolean;
  cache: boolean;
  names: boolean;
  refusals: boolean;
  failedResults: boolean;
  /** Signed reasoning, and signatures of calls. */
  sealed: Omit<Opaque, "value"> | undefined;
  signedCalls: boolean;
  /** System texts between the turns. */
  systemTurns: boolean;
}

export type MediaShape = Pick<MediaPart, "kind" | "source"> & Partial<MediaPart>;

export const data = {
  png: { type: "base64", mimeType: "image/png", data: "iVBORw0KGgo=" },
  pdf: { type: "base64", mimeType: "application/pdf", data: "JVBERi0xLjQ=" },
  wav: { type: "base64", mimeType: "audio/wav", data: "UklGRgAAAABXQVZF" },
  flac: { type: "base64", mimeType: "audio/flac", data: "ZkxhQwAA" },
  plain: { type: "base64", mimeType: "text/plain", data: "aGVsbG8=" },
  picture: { type: "url", url: "https://pictures.example/a.png", mimeType: undefined },
} as const;

/** A request that passes every dialect's own checks: calls are answered, a user begins. */
export function sampleRequest(random: Random, can: Abilities): CanonicalRequest {
  const maker = new Maker(random, can);
  const tools = random.list(0, 3, (at) => maker.tool(at));
  const settings = maker.settings(tools);
  return {
    model: "sample-model",
    stream: random.chance(50),
    system: random.list(0, 2, (at) => ({ ...maker.text(`system[${at}]`) })).map(
      ({ type: _, opaque: __, ...text }) => text,
    ),
    turns: maker.turns(tools),
    tools,
    ...settings,
    unsupported: [],
    paths: Object.fromEntries(Object.keys(settings).map((name) => [name, `settings.${name}`])),
  };
}

class Maker {
  readonly #random: Random;
  readonly #can: Abilities;
  #ids = 0;
  #marks = 0;

  constructor(random: Random, can: Abilities) {
    this.#random = random;
    this.#can = can;
  }

  settings(tools: readonly Tool[]): Partial<CanonicalRequest> {
    const chosen = Object.entries(this.#can.settings)
      .filter(() => this.#random.chance(25))
      .map(([name, values]) => [name, this.#random.pick(values)] as const)
      // Without tools there is nothing to choose.
      .filter(([name]) => tools.length > 0 || !/^(toolChoice|parallelToolCalls)$/.test(name));
    const settings: Partial<CanonicalRequest> = Object.fromEntries(chosen);
    const names = settings.toolChoice?.names;
    if (!names) return settings;
    const named = tools.slice(0, names.length).map(({ name }) => name);
    return { ...settings, toolChoice: { ...settings.toolChoice!, names: named } };
  }

  tool(at: number): Tool {
    const path = `tools[${at}]`;
    const described = this.#random.chance(70) ? { description: this.#random.words() } : {};
    const name = this.#random.pick(["f", "get_x", "f-2"]) + at;
    if (this.#can.customTools && this.#random.chance(20)) {
      const grammar = { type: "grammar", grammar: { syntax: "lark", definition: "start: WORD" } };
      const format = this.#random.chance(50) ? { format: grammar } : {};
      return { type: "custom", name, ...described, ...format, path };
    }
    const properties = { a: { type: "string" }, b: { type: "integer", description: "B" } };
    return {
      type: "function",
      name,
      ...described,
      parameters: { type: "object", properties, required: ["a", "b"], additionalProperties: false },
      ...(this.#can.strictTools && this.#random.chance(30) ? { strict: true } : {}),
      ...this.#cache(),
      path,
    };
  }

  /** A user begins; calls are answered in the next turn; a user ends. */
  turns(tools: readonly Tool[]): Turn[] {
    const turns: Turn[] = [this.#user(0)];
    for (let round = this.#random.below(3); round > 0; round--) {
      const assistant = this.#assistant(turns.length, tools);
      turns.push(assistant);
      if (this.#can.systemTurns && this.#random.chance(15)) {
        // Not between a call and its result.
        const called = assistant.parts.some(({ type }) => type === "tool-call");
        const path = `turns[${turns.length}]`;
        if (!called) turns.push({ role: "system", parts: [this.text(`${path}.parts[0]`)], path });
      }
      const results = assistant.parts.flatMap((part, at) =>
        part.type === "tool-call" ? [this.#result(part, `turns[${turns.length}].parts[${at}]`)] : []
      );
      const user = this.#user(turns.length);
      const { name: _, ...silent } = { ...user, parts: results };
      const isSilent = this.#random.chance(50) && results.length > 0;
      turns.push(isSilent ? silent : { ...user, parts: [...results, ...user.parts] });
    }
    return turns;
  }

  text(path: string): TextPart {
    return { type: "text", text: this.#random.words(), ...this.#cache(), path };
  }

  #user(at: number): Turn {
    const path = `turns[${at}]`;
    const parts = this.#random.list(1, 3, (index): Part => {
      const place = `${path}.parts[${index}]`;
      return this.#random.chance(30) ? this.#media(place) ?? this.text(place) : this.text(place);
    });
    const speaks = parts.some(({ type }) => type === "text");
    const name = this.#can.names && speaks && this.#random.chance(30) ? { name: "Ann" } : {};
    return { role: "user", parts, ...name, path };
  }

  #assistant(at: number, tools: readonly Tool[]): Turn {
    const path = `turns[${at}]`;
    const parts: Part[] = [];
    const place = () => `${path}.parts[${parts.length}]`;
    const { sealed } = this.#can;
    if (sealed && this.#random.chance(50)) {
      const opaque = { ...sealed, value: "c2VhbGVk" };
      parts.push({ type: "reasoning", text: this.#random.words(), opaque, path: place() });
    }
    if (this.#random.chance(70)) {
      // A text of ours is never taken for the end of an answer to be continued.
      parts.push(this.text(place()));
    }
    if (this.#can.refusals && this.#random.chance(20)) {
      parts.push({ type: "refusal", text: this.#random.words(), path: place() });
    }
    if (this.#can.assistantMedia && this.#random.chance(10)) {
      parts.push(this.#media(place()) ?? this.text(place()));
    }
    const callable = tools.length > 0 && this.#random.chance(60)
      ? this.#random.list(1, 2, (one) => one)
      : [];
    for (const index of callable) parts.push(this.#call(this.#random.pick(tools), index, place()));
    if (parts.every(({ type }) => type === "reasoning")) parts.push(this.text(place()));
    return { role: "assistant", parts, path };
  }

  #call(tool: Tool, index: number, path: string): Part {
    const custom = tool.type === "custom";
    const opaque = this.#can.signedCalls && index === 0 && this.#can.sealed
      ? { opaque: { ...this.#can.sealed, value: "c2ln" } }
      : {};
    return {
      type: "tool-call",
      id: `call_${this.#ids++}`,
      name: tool.name,
      arguments: custom ? this.#random.words() : JSON.stringify({ a: this.#random.words(), b: 1 }),
      custom,
      ...opaque,
      path,
    };
  }

  #result(call: Part & { type: "tool-call" }, path: string): Part {
    const media = this.#can.resultMedia && this.#random.chance(20)
      ? this.#media(`${path}.parts[1]`)
      : undefined;
    const isImage = media?.kind === "image" && media.source.type === "base64" &&
      (media.detail === undefined || this.#can.resultDetail);
    return {
      type: "tool-result",
      callId: call.id,
      parts: [
        { type: "text", text: this.#random.words(), path: `${path}.parts[0]` },
        ...(isImage ? [media] : []),
      ],
      isError: this.#can.failedResults && this.#random.chance(20),
      ...this.#cache(),
      path,
    };
  }

  #media(path: string): MediaPart | undefined {
    if (this.#can.media.length === 0) return undefined;
    const shape = this.#random.pick(this.#can.media);
    const source = distinct(shape.source, this.#ids++);
    return { type: "media", ...shape, source, ...this.#cache(), path };
  }

  /** At most four, as many as any dialect takes. */
  #cache(): { cache?: CacheMark } {
    if (!this.#can.cache || this.#marks >= 4 || !this.#random.chance(10)) return {};
    this.#marks++;
    return { cache: { ttl: this.#random.pick(["5m", "1h", undefined]) } };
  }
}

/** No two media of a request are the same. */
function distinct(source: MediaPart["source"], count: number): MediaPart["source"] {
  switch (source.type) {
    case "base64":
      return { ...source, data: btoa(atob(source.data) + count) };
    case "url":
      return { ...source, url: `${source.url}?${count}` };
    case "vendor-file":
      return { ...source, id: source.id + count };
  }
}
