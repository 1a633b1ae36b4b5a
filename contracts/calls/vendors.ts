/**
 * The wire formats that callers and vendors speak. Whatever exists once per dialect (codec,
 * contracts, routes, form of errors) is a record keyed by these names, so that the compiler reports
 * every place where a new dialect is missing.
 */
export const dialectNames = ["chat", "responses", "messages", "generate"] as const;

export type DialectName = (typeof dialectNames)[number];

/**
 * Calls outside the four dialects' conversations: those that chat-style vendors have on separate
 * paths, and methods of the generate dialect's models (docs/vendor-paths.md).
 */
export type OperationKind = (typeof operationKinds)[number];

/** Operations of chat-style vendors, each on a path of its own. */
const pathKinds = [
  "imageGenerations",
  "imageEdits",
  "speech",
  "transcriptions",
  "translations",
  "embeddings",
] as const;

/** `POST …/models/{model}:{kind}`. */
export const methodKinds = ["predict", "embedContent", "batchEmbedContents"] as const;

export const operationKinds = [...pathKinds, ...methodKinds] as const;

/** A method of a model, by its name in the path. */
export type MethodKind = (typeof methodKinds)[number];

/** One family: the paths below `/{label}` and below `/{alias}`. */
export interface VendorFamily {
  /** Neutral label of the specification; also the scope's name. */
  readonly label: string;
  /** The vendor's public name, for summaries and pages. */
  readonly name: string;
  /** Further path prefixes and provider names. */
  readonly aliases: readonly string[];
  /** The kind of vendor, for the OpenAPI document. */
  readonly kind: string;
  /** Dialects that callers may speak on this family, in the order of the specification. */
  readonly dialects: readonly DialectName[];
  /** Operations that the family has paths for. */
  readonly operations: readonly OperationKind[];
  /** Whether image edits can only be sent as JSON. */
  readonly takesNoForms?: true;
}

/**
 * Returns the name of an operation of one prefix: `createMessage` (`chat`), `createMessageVendorC`.
 */
export function operationName(verb: string, prefix: string): string {
  if (prefix === "chat") return verb;
  return verb + prefix.replace(/(?:^|-)(\w)/g, (_, letter: string) => letter.toUpperCase());
}

/** The prefix of a contract's paths: a family's label and aliases, or `/chat` for any vendor. */
export type PathPrefix = Pick<VendorFamily, "label" | "aliases"> & { readonly name?: string };

export const anyVendor: PathPrefix = { label: "chat", aliases: [] };

/** Returns a summary such as `Create a message (Anthropic)`; for any vendor, without a name. */
export function summaryOf(what: string, { name }: PathPrefix): string {
  return name === undefined ? what : `${what} (${name})`;
}

/** Returns the common fields of contracts for operations below a prefix. */
export function pathBelow({ label, aliases }: PathPrefix, path: string, verb: string) {
  return {
    path: `/${label}/v1/${path}`,
    aliases: aliases.map((alias) => `/${alias}/v1/${path}`),
    operationId: operationName(verb, label),
    tag: label,
    scope: label,
  };
}

/**
 * The seven vendor families as callers see them: labels, names, aliases and endpoints. How the
 * service calls a vendor is defined in `src/vendors/`.
 */
export const vendorFamilies: readonly VendorFamily[] = [
  {
    label: "vendor-a",
    name: "Hugging Face",
    aliases: ["huggingface"],
    kind: "hosted open-model provider",
    dialects: ["chat", "responses"],
    operations: ["imageGenerations", "embeddings"],
  },
  {
    label: "vendor-b",
    name: "OpenAI",
    aliases: ["openai"],
    kind: "chat-model provider",
    dialects: ["chat", "responses"],
    operations: pathKinds,
  },
  {
    label: "vendor-c",
    name: "Anthropic",
    aliases: ["anthropic"],
    kind: "messages-API provider",
    dialects: ["messages"],
    operations: [],
  },
  {
    label: "vendor-d",
    name: "Google",
    aliases: ["google"],
    kind: "native content-generation provider",
    dialects: ["generate"],
    operations: methodKinds,
  },
  {
    label: "vendor-e",
    name: "Google, OpenAI-compatible",
    aliases: ["gemini"],
    kind: "chat-completions-style front for the models of vendor-d",
    dialects: ["chat", "responses"],
    operations: ["embeddings"],
  },
  {
    label: "vendor-f",
    name: "OpenRouter",
    aliases: ["openrouter"],
    kind: "aggregator of models from many providers",
    dialects: ["chat"],
    operations: ["imageGenerations", "speech", "embeddings"],
  },
  {
    label: "vendor-g",
    name: "xAI",
    aliases: ["xai"],
    kind: "further chat-model provider",
    dialects: ["chat"],
    operations: ["imageGenerations", "imageEdits"],
    takesNoForms: true,
  },
];
