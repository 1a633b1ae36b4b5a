/**
 * The neutral form of a request: turns with typed parts, tools, settings. Every dialect decodes
 * into it and encodes out of it. An absent field was not set.
 *
 * `path` of a part or tool is where it stood in the caller's body, such as
 * `messages[2].content[0]`: losses are reported in the caller's own words.
 */
export interface CanonicalRequest {
  /** The vendor's own name of the model. */
  model: string;
  stream: boolean;
  /** System and developer texts before the first turn, in order. */
  system: SystemText[];
  turns: Turn[];
  tools: Tool[];
  toolChoice?: ToolChoice;
  /** The vendor's own web search, where the caller offers it to the model. */
  webSearch?: WebSearch;
  parallelToolCalls?: boolean;
  /** Upper bound of the output in tokens, reasoning included, for one answer. */
  maxOutputTokens?: number;
  temperature?: number;
  topP?: number;
  topK?: number;
  stop?: string[];
  /** How many answers; 1 when absent. */
  choices?: number;
  seed?: number;
  frequencyPenalty?: number;
  presencePenalty?: number;
  /** Log-probabilities of the output, with this many alternatives a token. */
  logprobs?: { top: number };
  logitBias?: Readonly<Record<string, number>>;
  format?: OutputFormat;
  reasoning?: Reasoning;
  verbosity?: string;
  /** End user, as the caller names it. */
  user?: string;
  serviceTier?: string;
  metadata?: Readonly<Record<string, string>>;
  /** Calls with the same key are likely to share the beginning of their prompts. */
  promptCacheKey?: string;
  /** The caller's fields that have no neutral form, by their path, with their value. */
  unsupported: UnsupportedField[];
  /** Path in the caller's body of each setting that was set, such as `topP` → `top_p`. */
  paths: Readonly<Partial<Record<SettingName, string>>>;
}

/** What a request sets beside its conversation and its tools. */
export type RequestSettings = Omit<
  CanonicalRequest,
  "model" | "stream" | "system" | "turns" | "tools" | "unsupported" | "paths"
>;

/** Settings that a target may be unable to carry. */
export type SettingName =
  | "toolChoice"
  | "parallelToolCalls"
  | "maxOutputTokens"
  | "temperature"
  | "topP"
  | "topK"
  | "stop"
  | "choices"
  | "seed"
  | "frequencyPenalty"
  | "presencePenalty"
  | "logprobs"
  | "logitBias"
  | "format"
  | "reasoning"
  | "verbosity"
  | "user"
  | "serviceTier"
  | "metadata"
  | "promptCacheKey";

/** A field of the caller's dialect that other dialects have no word for. */
export interface UnsupportedField {
  path: string;
  value: unknown;
  /** What leaving it out does: a `hint` changes nothing that was asked for. */
  weight: LossWeight;
}

/** `hint`: dropped and reported. `meaning`: 400 unless the caller is lenient. */
export type LossWeight = "hint" | "meaning";

/** Something that the target could not carry, in the caller's own words. */
export interface Loss {
  path: string;
  weight: LossWeight;
}

export interface SystemText {
  text: string;
  /** Marks the end of a prefix worth caching (messages dialect); `1h` or `5m`. */
  cache?: CacheMark;
  path: string;
}

/** The end of a prefix that the vendor shall keep: for its short lifetime, or (`1h`) its long one. */
export interface CacheMark {
  ttl: "5m" | "1h" | undefined;
  /** Where it stood in the caller's body, if not as `cache_control` below what it marks. */
  path?: string;
}

/**
 * One turn. Results of tools are parts of a user turn. A `system` turn stands where a system text
 * came after the first turn; targets that can't say that hoist it.
 */
export interface Turn {
  role: "system" | "user" | "assistant";
  parts: Part[];
  /** Name of the speaker, where the dialect has one. */
  name?: string;
  path: string;
}

export type Part =
  | TextPart
  | MediaPart
  | ToolCallPart
  | ToolResultPart
  | ReasoningPart
  | RefusalPart;

export interface TextPart {
  type: "text";
  text: string;
  cache?: CacheMark;
  /** What its vendor signed this text with; optional to give back. */
  opaque?: Opaque;
  path: string;
}

/** An image, sound, document or video: its data, or where it is. */
export interface MediaPart {
  type: "media";
  kind: "image" | "audio" | "file" | "video";
  source:
    | { type: "base64"; mimeType: string; data: string }
    | { type: "url"; url: string; mimeType: string | undefined }
    /** A file that the vendor keeps; means nothing to another vendor. */
    | { type: "vendor-file"; id: string; mimeType: string | undefined };
  name?: string;
  /** How closely to look at an image. */
  detail?: string;
  cache?: CacheMark;
  path: string;
  /** Where name and detail stood, if not right below `path` under these words. */
  fieldPaths?: { name?: string; detail?: string };
}

export interface ToolCallPart {
  type: "tool-call";
  id: string;
  name: string;
  /** JSON text of the arguments as it was written; free text of a custom tool. */
  arguments: string;
  custom: boolean;
  /** What its vendor needs back unmodified (thought signature). */
  opaque?: Opaque;
  cache?: CacheMark;
  path: string;
}

export interface ToolResultPart {
  type: "tool-result";
  /** The call that this answers. */
  callId: string;
  /** Name of the tool where the dialect says it; else it is looked up by the call. */
  name?: string;
  parts: (TextPart | MediaPart)[];
  /** The result as a JSON object where the dialect has objects there. */
  object?: Readonly<Record<string, unknown>>;
  isError: boolean;
  cache?: CacheMark;
  path: string;
}

/** Reasoning of an earlier answer, given back. */
export interface ReasoningPart {
  type: "reasoning";
  text: string;
  /** Signature, sealed or redacted content; without it no vendor takes reasoning back. */
  opaque?: Opaque;
  path: string;
}

export interface RefusalPart {
  type: "refusal";
  text: string;
  path: string;
}

/** What only the vendor that made it understands; given back to it unmodified, to no other. */
export interface Opaque {
  /** Dialect of the vendor's wire format. */
  dialect: "chat" | "responses" | "messages" | "generate";
  /** The vendor's own value: a signature, or a block as it was. */
  value: string;
  /** What the value is, in the vendor's words, such as `signature` or `redacted`; `block`: a whole
   * block, item or part of the vendor's own work, as JSON text. */
  kind: string;
  /** Id of the item that held it, where the vendor checks the one against the other. */
  itemId?: string;
}

export interface Tool {
  type: "function" | "custom";
  name: string;
  description?: string;
  /** JSON Schema of the arguments; absent: no arguments. */
  parameters?: Readonly<Record<string, unknown>>;
  strict?: boolean;
  cache?: CacheMark;
  /**
   * What a custom tool takes: `{type: "text"}`, or `{type: "grammar", grammar: {syntax, definition}}`.
   */
  format?: unknown;
  path: string;
}

/** Web search that the vendor does itself while it answers. */
export interface WebSearch {
  /** Only results of these domains, or none of those. */
  allowedDomains?: readonly string[];
  blockedDomains?: readonly string[];
  /** At most so many searches. */
  maxUses?: number;
  /** About where the end user is. */
  location?: SearchLocation;
  /** How much of what is found goes into the prompt. */
  contextSize?: "low" | "medium" | "high";
  cache?: CacheMark;
  /** True: the caller's tool choice names it. */
  demanded: boolean;
  path: string;
  /** Where the fields stood in the caller's body. */
  paths: Readonly<Partial<Record<SearchField | "demanded", string>>>;
}

export type SearchField =
  | "allowedDomains"
  | "blockedDomains"
  | "maxUses"
  | "location"
  | "contextSize";

export interface SearchLocation {
  city?: string;
  /** Two letters. */
  country?: string;
  region?: string;
  /** IANA name. */
  timezone?: string;
}

/** `names`: only these tools may be called; with `required` and one name it is forced. */
export interface ToolChoice {
  mode: "auto" | "none" | "required";
  names?: string[];
}

export type OutputFormat =
  | { type: "text" }
  | { type: "json" }
  | {
    type: "json-schema";
    name: string;
    description?: string;
    schema: Readonly<Record<string, unknown>>;
    strict?: boolean;
  };

/** What was asked of reasoning, in efforts or in tokens. */
export interface Reasoning {
  effort?: "none" | "minimal" | "low" | "medium" | "high" | "xhigh" | "max";
  /** Of the output, where the dialect counts; 0 is off. */
  budgetTokens?: number;
  /** Whether the caller can show the reasoning and wants it. */
  show?: boolean;
}
