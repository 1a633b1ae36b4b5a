/**
 * The wire formats that callers and vendors speak. What there is once per dialect (its codec, its
 * contracts, its routes, the form of its errors) is a record over this list, so that the compiler
 * names every place where a new one is missing.
 */
export const dialectNames = ["chat", "responses", "messages", "generate"] as const;

export type DialectName = (typeof dialectNames)[number];

/**
 * Calls beside the four chat dialects: those that chat-style vendors have on paths of their own,
 * and the methods of the generate dialect's models (docs/vendor-paths.md).
 */
export type OperationKind = (typeof operationKinds)[number];

/** Of chat-style vendors. */
const pathKinds = [
  "imageGenerations",
  "imageEdits",
  "speech",
  "transcriptions",
  "embeddings",
] as const;

/** `POST …/models/{model}:{kind}`. */
export const methodKinds = ["predict", "embedContent", "batchEmbedContents"] as const;

export const operationKinds = [...pathKinds, ...methodKinds] as const;

/** A method of a model, as its path names it. */
export type MethodKind = (typeof methodKinds)[number];

/** One family: the paths below `/{label}` and below `/{alias}`. */
export interface VendorFamily {
  /** Neutral label of the specification; also the scope's name. */
  readonly label: string;
  /** The vendor as people know it, for summaries and pages. */
  readonly name: string;
  /** Further path prefixes and provider names. */
  readonly aliases: readonly string[];
  /** What kind of vendor it is, for the document. */
  readonly kind: string;
  /** Dialects that callers may speak on this family, in the order of the specification. */
  readonly dialects: readonly DialectName[];
  /** Operations that the family has paths for. */
  readonly operations: readonly OperationKind[];
  /** Edits are asked for in JSON alone. */
  readonly takesNoForms?: true;
}

/** `createMessage` as the method of one prefix: as it is for `chat`, `createMessageVendorC`, … */
export function operationName(verb: string, prefix: string): string {
  if (prefix === "chat") return verb;
  return verb + prefix.replace(/(?:^|-)(\w)/g, (_, letter: string) => letter.toUpperCase());
}

/** Below what a contract's paths lie: a family's label and aliases, or `/chat` for any vendor. */
export type PathPrefix = Pick<VendorFamily, "label" | "aliases"> & { readonly name?: string };

export const anyVendor: PathPrefix = { label: "chat", aliases: [] };

/** `Create a message (Anthropic)`; what every vendor is asked by has no name behind it. */
export function summaryOf(what: string, { name }: PathPrefix): string {
  return name === undefined ? what : `${what} (${name})`;
}

/** What the operations below a prefix have in common. */
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
 * The seven vendor families as callers see them: labels, names, aliases and which endpoints each has.
 * How a vendor is called is in `src/vendors/`.
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
