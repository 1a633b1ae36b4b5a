import type { DialectName } from "../../../contracts/calls/vendors.ts";
import type { CallerToolName } from "./namespaces.ts";
import { type JsonRecord } from "./json.ts";

/**
 * The canonical form of a request: turns with typed parts, tools, settings. Every dialect decodes
 * into it and encodes out of it. An absent field was not set.
 *
 * `path` of a part or tool is its path in the caller's body, such as `messages[2].content[0]`:
 * losses are reported with this path.
 */
export interface CanonicalRequest extends RequestSettings {
  /** The vendor's own name of the model. */
  model: string;
  stream: boolean;
  /** System and developer texts before the first turn, in order. */
  system: SystemText[];
  turns: Turn[];
  /** Answers repeat `metadata` to the caller, so a vendor that doesn't take it loses nothing. */
  repeatsMetadata?: true;
  /** The caller's field with the turns. Default: `messages`. */
  turnsPath?: string;
  tools: Tool[];
  /**
   * Set if the last turn asks for a summary that will replace the conversation. `required`: the
   * answer's format has room for nothing but a summary. `optional`: it also has a form for none.
   */
  asksForSummary?: true | "required" | "optional";
  /** What the conversation has changed in `tools`, which the summary must carry on, if there is any. */
  toolChanges?: readonly JsonRecord[];
  /**
   * Maps the `name` of each tool in a namespace, and of each tool without a name, to what the
   * caller calls it, in dialects that have these.
   */
  namespaces?: Readonly<Record<string, CallerToolName>>;
  /** The caller's fields without a canonical form, with path and value. */
  unsupported: UnsupportedField[];
  /** Path in the caller's body of each setting, such as `topP` → `top_p`. */
  paths: Readonly<Partial<Record<SettingName, string>>>;
}

/** A request's settings, without its conversation and its tools. */
export interface RequestSettings {
  toolChoice?: ToolChoice;
  /** The vendor's own web search, if the caller offers it to the model. */
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
  /** The kinds of output that the model may produce; text when absent, unless it always makes images. */
  modalities?: readonly Modality[];
  /** End user, as the caller names it. */
  user?: string;
  serviceTier?: string;
  metadata?: Readonly<Record<string, string>>;
  /** Calls with the same key are likely to share a prompt prefix. */
  promptCacheKey?: string;
  /** How the vendor's cache works and how long it lasts, in the terms of chat and responses. */
  promptCacheOptions?: JsonRecord;
  promptCacheRetention?: string;
}

/** Speech is not among them: it has endpoints of its own. */
export type Modality = "text" | "image";

/** Settings that a target may be unable to carry. */
export type SettingName = Exclude<keyof RequestSettings, "webSearch">;

/** A field of the caller's dialect that other dialects can't express. */
export interface UnsupportedField {
  path: string;
  value: unknown;
  /** The effect of leaving it out. */
  weight: LossWeight;
  /** Set if the field is another dialect's: where the caller's has it. */
  instead?: string;
  /** Set if it is a search of a turn: the turn's index. What is stored of the turn may have it. */
  searchOfTurn?: number;
}

/**
 * `hint`: dropped and reported, since the answer keeps its meaning. `meaning`: refused with a 400
 * unless the caller is lenient.
 */
export type LossWeight = "hint" | "meaning";

/** An element of the request that the target can't express, identified by the caller's path. */
export interface Loss {
  path: string;
  weight: LossWeight;
}

export interface SystemText {
  text: string;
  /** Marks the end of a prefix worth caching. */
  cache?: CacheMark;
  path: string;
}

/**
 * The end of a prefix that the vendor should cache, for its short lifetime or (`1h`) its long one.
 */
export interface CacheMark {
  ttl: "5m" | "1h" | undefined;
  /** Its path in the caller's body, unless it is `cache_control` of the marked object. */
  path?: string;
}

/**
 * One turn. Tool results are parts of a user turn. A `system` turn is a system text after the first
 * turn; targets without such turns move it to the front.
 */
export interface Turn {
  role: "system" | "user" | "assistant";
  parts: Part[];
  /** Name of the speaker, in dialects that have one. */
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
  /** The vendor's signature of this text; sending it back is optional. */
  opaque?: Opaque;
  path: string;
}

/** An image, audio, document or video: its data or its address. */
export interface MediaPart {
  type: "media";
  kind: "image" | "audio" | "file" | "video";
  source:
    | { type: "base64"; mimeType: string; data: string }
    | { type: "url"; url: string; mimeType: string | undefined }
    /** A file stored at the vendor; meaningless to any other. */
    | { type: "vendor-file"; id: string; mimeType: string | undefined };
  name?: string;
  /** How closely to look at an image. */
  detail?: string;
  cache?: CacheMark;
  path: string;
  /** Paths of name and detail, unless they are members of `path` with these names. */
  fieldPaths?: { name?: string; detail?: string };
}

export interface ToolCallPart {
  type: "tool-call";
  id: string;
  name: string;
  /** The arguments as JSON text, as the caller wrote them; for a custom tool free text. */
  arguments: string;
  custom: boolean;
  /** Data that the vendor needs back unchanged (a thought signature). */
  opaque?: Opaque;
  cache?: CacheMark;
  path: string;
}

export interface ToolResultPart {
  type: "tool-result";
  callId: string;
  /** Name of the tool, in dialects that repeat it; if absent, the call's name applies. */
  name?: string;
  parts: (TextPart | MediaPart)[];
  /**
   * The result as a JSON object, in dialects whose results are objects; `parts` hold the same
   * content.
   */
  object?: JsonRecord;
  isError: boolean;
  cache?: CacheMark;
  path: string;
}

/** Reasoning of an earlier answer, sent back. */
export interface ReasoningPart {
  type: "reasoning";
  text: string;
  /** Signature, sealed or redacted content; without it no vendor accepts reasoning. */
  opaque?: Opaque;
  path: string;
}

export interface RefusalPart {
  type: "refusal";
  text: string;
  path: string;
}

/**
 * Data that only the vendor that produced it understands; sent back to it unchanged, to no other.
 */
export interface Opaque {
  /** Dialect of the vendor's wire format. */
  dialect: DialectName;
  /** The vendor's value: a signature, or a whole block. */
  value: string;
  /**
   * What the value is in the vendor's terms, such as `signature` or `redacted`; `block`: a whole
   * block, item or part of vendor-side work, as JSON text.
   */
  kind: string;
  /** Id of the item that it belongs to, if the vendor checks that the two match. */
  itemId?: string;
}

export interface Tool {
  type: "function" | "custom";
  name: string;
  description?: string;
  /** JSON Schema of the arguments; absent: no arguments. */
  parameters?: JsonRecord;
  strict?: boolean;
  cache?: CacheMark;
  /**
   * Input format of a custom tool: `{type: "text"}`, or
   * `{type: "grammar", grammar: {syntax, definition}}`.
   */
  format?: unknown;
  path: string;
}

/** Web search by the vendor while it answers. */
export interface WebSearch {
  /** Only results from the allowed domains, or none from the blocked ones. */
  allowedDomains?: readonly string[];
  blockedDomains?: readonly string[];
  /** Maximum number of searches per answer. */
  maxUses?: number;
  /** Approximate location of the end user. */
  location?: SearchLocation;
  /** How much of the results goes into the prompt. */
  contextSize?: "low" | "medium" | "high";
  cache?: CacheMark;
  /** Whether the caller's tool choice names it. */
  demanded: boolean;
  path: string;
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

/** `names`: only these tools may be called; with `required`, a single name is forced. */
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
    schema: JsonRecord;
    strict?: boolean;
  };

/** The requested reasoning, as an effort or in tokens. */
export interface Reasoning {
  effort?: "none" | "minimal" | "low" | "medium" | "high" | "xhigh" | "max";
  /** Tokens, in dialects that count them; 0 is off. */
  budgetTokens?: number;
  /** Whether the caller wants to see the reasoning. */
  show?: boolean;
}
