import {
  type DialectName,
  type MethodKind,
  type OperationKind,
  operationKinds,
  vendorFamilies,
  type VendorFamily,
} from "../../contracts/calls/vendors.ts";
import { defined } from "../base/defined.ts";
import { Secret } from "../base/secret.ts";
import type { DialectQuirks } from "../dialects/kernel/dialect.ts";
import type { ImageCodec } from "../dialects/kernel/image_codec.ts";
import type { SpeechCodec } from "../dialects/kernel/speech_codec.ts";
import type { PriceRow } from "../pricing/pricing.ts";
import type { SettingName } from "../dialects/kernel/canonical_request.ts";
import type { RefusedSettings, SupportedEfforts } from "../dialects/kernel/refused_settings.ts";
import { hostMedia, type MediaRoute, mediaRouteTable, noMedia } from "./media_routes.ts";
import {
  rowsFromAggregatorModels,
  rowsFromHostedModels,
} from "../pricing/sources/listed_prices.ts";

export type VendorAuth = "bearer" | "x-api-key" | "x-goog-api-key";

export type { MediaRoute } from "./media_routes.ts";

/**
 * How a vendor offers an operation: at a path, or as a method of the model, both of which take the
 * request as it is; or in the native form that `translated` names, for which it is translated.
 */
export type EndpointMapping =
  | { readonly path: string }
  | { readonly method: MethodKind }
  | { readonly translated: "batch-embed" };

/** One vendor: everything that makes it different from the others (docs/vendor-paths.md). */
export interface Vendor {
  readonly label: string;
  readonly aliases: readonly string[];
  /** Address including the version segment, without a slash at the end. */
  readonly baseUrl: string;
  /**
   * The service's own key, the first if there are several; undefined: managed mode is not
   * configured for the vendor.
   */
  readonly apiKey: Secret | undefined;
  /** The environment variable that sets the service's own keys; absent: none does. */
  readonly keyVariable?: string;
  /** All of the service's own keys. Vendors that share them have the same list. */
  readonly apiKeys: readonly Secret[];
  /** Dialects that the vendor itself speaks, the preferred one first. */
  readonly dialects: readonly DialectName[];
  /** The one of `dialects` that requests in other dialects are translated to; absent: the first. */
  readonly translateTo?: DialectName;
  /** Operations besides the dialects; the vendor lacks those that are missing here. */
  readonly operations: Readonly<Partial<Record<OperationKind, EndpointMapping>>>;
  readonly auth: VendorAuth;
  /** Headers sent on every call, such as the version of the wire format. */
  readonly fixedHeaders: Readonly<Record<string, string>>;
  /** Caller's headers that are forwarded unchanged (names in lower case). */
  readonly forwardHeaders: readonly string[];
  /**
   * Forwarded as well, for callers that speak the vendor's own dialect: headers that say how to
   * read it. A name that ends in `*` stands for all names with that prefix.
   */
  readonly dialectHeaders: readonly string[];
  /**
   * Headers that name the caller's account at the vendor, even if they match `dialectHeaders`:
   * never sent with the service's own key.
   */
  readonly ownKeyHeaders: readonly string[];
  /** Path of the model list below the base URL. */
  readonly modelsPath: string;
  readonly modelsFormat: "openai" | "anthropic" | "google";
  /** Whose price rows, base URL and keys this vendor uses: its own label, or another's. */
  readonly sharesWith: string;
  /** The vendor reports what it charged, and its report is trusted. */
  readonly reportsCost: boolean;
  /**
   * The report comes before every price: calls with the service's own key may use tools and tiers
   * without one, and a row of the operator's doesn't replace the report.
   */
  readonly admitsUnpriced: boolean;
  /** Reads prices from the vendor's model list, for vendors that give them there. */
  readonly listedPrices: ((label: string, body: unknown) => PriceRow[]) | undefined;
  readonly quirks: DialectQuirks;
  /**
   * The vendor compacts a conversation itself when asked to; other vendors' models are asked for a
   * summary.
   */
  readonly compacts?: true;
  /**
   * `tools`: the vendor's endpoints know only functions and the tools that the vendor runs itself.
   * OpenAI's other tools (`apply_patch`, `shell`, `namespace`, `tool_search`, custom tools) are
   * functions there. `fields`: its chat endpoint refuses OpenRouter's fields (`reasoning`,
   * `provider`, …) and Anthropic's `cache_control`.
   */
  readonly lacksExtensions?: "tools" | "fields";
  /** What the vendor's lists and clients put before a model's name; calls may do so as well. */
  readonly namePrefix?: string;
  /** Names of its models may begin with another vendor's name, as an aggregator's do. */
  readonly hasNestedNames: boolean;
  /**
   * The models in its price rows are its own, so that their bare names mean this vendor. False for
   * vendors that host or resell others' models, or that are another way to reach a vendor's.
   */
  readonly ownsModels: boolean;
  /** The form of its keys, which tells them from other vendors' keys; undefined: not known. */
  readonly keyForm: RegExp | undefined;
  /** Its image generation; undefined: none. */
  readonly images: MediaRoute<ImageCodec> | undefined;
  /** Its speech generation; undefined: none. */
  readonly speech: MediaRoute<SpeechCodec> | undefined;
  /** What callers see of it. */
  readonly family: VendorFamily;
}

/** A row without the fields that `createRegistry` adds. */
type VendorRow = Omit<Vendor, "apiKey" | "apiKeys" | "aliases" | "family">;

/** Operations of the vendor that the chat dialect comes from, and of those that follow it. */
const chatOperations = {
  imageGenerations: { path: "/images/generations" },
  imageEdits: { path: "/images/edits" },
  speech: { path: "/audio/speech" },
  transcriptions: { path: "/audio/transcriptions" },
  translations: { path: "/audio/translations" },
  embeddings: { path: "/embeddings" },
} as const;

/**
 * Operations of the generate dialect besides generating: methods of the model, but for embeddings,
 * which are translated.
 */
const generateOperations = {
  embeddings: { translated: "batch-embed" },
  predict: { method: "predict" },
  embedContent: { method: "embedContent" },
  batchEmbedContents: { method: "batchEmbedContents" },
} as const;

const chatDefaults = {
  operations: chatOperations,
  auth: "bearer",
  fixedHeaders: {},
  forwardHeaders: [],
  dialectHeaders: ["openai-beta"],
  ownKeyHeaders: [],
  modelsPath: "/models",
  modelsFormat: "openai",
  reportsCost: false,
  admitsUnpriced: false,
  listedPrices: undefined,
  quirks: {},
  ownsModels: true,
  keyForm: undefined,
  ...noMedia,
} as const;

/** Headers by which vendor-b's own coding agent names its abilities and its session. */
const agentHeaders = [
  "x-codex-*",
  "x-openai-internal-codex-responses-lite",
  "originator",
  "session-id",
  "session_id",
];

const messagesDefaults = {
  operations: {},
  fixedHeaders: { "anthropic-version": "2023-06-01" },
  dialectHeaders: ["anthropic-version", "anthropic-beta"],
  modelsFormat: "anthropic",
} as const;

const generateDefaults = {
  operations: generateOperations,
  dialectHeaders: [],
  modelsFormat: "google",
} as const;

/** What a vendor added by the operator needs besides `chatDefaults`, by its first dialect. */
const dialectDefaults = {
  chat: hostMedia,
  responses: hostMedia,
  messages: messagesDefaults,
  generate: generateDefaults,
} as const satisfies Readonly<Record<DialectName, unknown>>;

const anyModel = /^/;

const googleRow = {
  ...chatDefaults,
  baseUrl: "https://generativelanguage.googleapis.com/v1beta",
  dialects: ["generate"],
  auth: "x-goog-api-key",
  ...generateDefaults,
  ...mediaRouteTable["vendor-d"],
  quirks: { signedThinking: anyModel },
  namePrefix: "models/",
  sharesWith: "vendor-d",
  keyForm: /^AIza/,
} as const;

/**
 * Settings that vendors' reasoning models refuse. For minor versions, those in vendor-b's own
 * guide, which `@ai-sdk/openai` 4 and LiteLLM 1.106 list too.
 */
const sampling = ["temperature", "topP", "logprobs"] as const;
const always: readonly SettingName[] = ["frequencyPenalty", "presencePenalty", "logitBias", "stop"];

/** Models that know chat's output limit by its newer name only. */
const reasoningOfVendorB =
  /^(?:o\d|gpt-(?:5(?!-chat)|[6-9]|\d\d)(?!\d)|codex-mini|computer-use-preview)/;

const refusedByVendorB: readonly RefusedSettings[] = [
  // From 5.1 on they take sampling where reasoning is off.
  { models: /^gpt-5\.[1-9]/, always, whileReasoning: sampling },
  { models: reasoningOfVendorB, always: [...always, ...sampling] },
];

/**
 * From the vendor's refusals, which list what a model supports (seen of gpt-5.1; of gpt-5, gpt-5.2,
 * gpt-5.4 and o3 in users' reports), the others from its documentation. None is known of newer models.
 */
const effortsOfVendorB: readonly SupportedEfforts[] = [
  { models: /^(?:ft:)?(?:gpt-[34]|chatgpt-|gpt-[\d.]+-chat)/, efforts: [] },
  { models: /^gpt-5-pro/, efforts: ["high"] },
  { models: /^(?:o\d|gpt-5(?:\.1)?-codex(?!-max))/, efforts: ["low", "medium", "high"] },
  { models: /^gpt-5\.[1-4]-codex/, efforts: ["low", "medium", "high", "xhigh"] },
  { models: /^gpt-5(?!\.)/, efforts: ["minimal", "low", "medium", "high"] },
  { models: /^gpt-5\.1(?!\d)/, efforts: ["none", "low", "medium", "high"] },
  { models: /^gpt-5\.[24]-pro/, efforts: ["medium", "high", "xhigh"] },
  { models: /^gpt-5\.[2-4](?!\d)/, efforts: ["none", "low", "medium", "high", "xhigh"] },
];

/** Unlike vendor-b's, these models take sampling settings. */
const refusedByVendorG: readonly RefusedSettings[] = [
  {
    models: /^grok-(?:3-mini|[4-9]|code|build)/,
    except: /non-reasoning/,
    always: ["frequencyPenalty", "presencePenalty", "stop"],
  },
];

const rows: readonly VendorRow[] = [
  {
    ...chatDefaults,
    label: "vendor-a",
    baseUrl: "https://router.huggingface.co/v1",
    dialects: ["chat", "responses"],
    lacksExtensions: "tools",
    dialectHeaders: [],
    ownKeyHeaders: ["x-hf-*"],
    operations: {
      imageGenerations: chatOperations.imageGenerations,
      embeddings: chatOperations.embeddings,
    },
    listedPrices: rowsFromHostedModels,
    ...mediaRouteTable["vendor-a"],
    ownsModels: false,
    keyForm: /^hf_/,
    sharesWith: "vendor-a",
  },
  {
    ...chatDefaults,
    label: "vendor-b",
    baseUrl: "https://api.openai.com/v1",
    dialects: ["chat", "responses"],
    // Its chat endpoint refuses tools together with reasoning on current models.
    translateTo: "responses",
    lacksExtensions: "fields",
    dialectHeaders: ["openai-*", ...agentHeaders],
    ownKeyHeaders: ["openai-organization", "openai-project"],
    compacts: true,
    quirks: {
      customTools: true,
      refuses: refusedByVendorB,
      efforts: effortsOfVendorB,
      newerTokenLimit: reasoningOfVendorB,
    },
    ...mediaRouteTable["vendor-b"],
    keyForm: /^sk-(?!ant-|or-)/,
    sharesWith: "vendor-b",
  },
  {
    ...chatDefaults,
    label: "vendor-c",
    baseUrl: "https://api.anthropic.com/v1",
    dialects: ["messages"],
    auth: "x-api-key",
    ...messagesDefaults,
    dialectHeaders: ["anthropic-*"],
    ownKeyHeaders: [
      "anthropic-organization*",
      "anthropic-user-profile*",
      "anthropic-workspace*",
    ],
    compacts: true,
    quirks: { signedThinking: anyModel },
    keyForm: /^sk-ant-/,
    sharesWith: "vendor-c",
  },
  { ...googleRow, label: "vendor-d" },
  { ...googleRow, label: "vendor-e", ownsModels: false },
  {
    ...chatDefaults,
    label: "vendor-f",
    baseUrl: "https://openrouter.ai/api/v1",
    dialects: ["chat", "responses", "messages"],
    operations: {
      imageGenerations: { path: "/images" },
      speech: chatOperations.speech,
      embeddings: chatOperations.embeddings,
    },
    forwardHeaders: ["http-referer", "x-title"],
    dialectHeaders: [],
    // vendor-c's models behind the aggregator; other models take unsigned thinking.
    quirks: { signedThinking: /^~?anthropic\//, imageModels: /-image\b/ },
    reportsCost: true,
    admitsUnpriced: true,
    listedPrices: rowsFromAggregatorModels,
    ...mediaRouteTable["vendor-f"],
    ownsModels: false,
    keyForm: /^sk-or-/,
    sharesWith: "vendor-f",
  },
  {
    ...chatDefaults,
    label: "vendor-g",
    baseUrl: "https://api.x.ai/v1",
    dialects: ["chat", "responses"],
    lacksExtensions: "tools",
    operations: {
      imageGenerations: chatOperations.imageGenerations,
      imageEdits: chatOperations.imageEdits,
    },
    // Keeps a conversation on one server and its cache, whatever dialect the caller speaks.
    forwardHeaders: ["x-grok-conv-id"],
    dialectHeaders: ["x-grok-*"],
    quirks: {
      additiveReasoning: true,
      refuses: refusedByVendorG,
      reservedTool: "tool_search",
    },
    // "The actual amount billed", tools included (docs.x.ai, "Cost Tracking", November 2026).
    reportsCost: true,
    ...mediaRouteTable["vendor-g"],
    keyForm: /^xai-/,
    sharesWith: "vendor-g",
  },
];

/** The environment's settings for one vendor. */
export interface VendorSettings {
  baseUrl?: string | undefined;
  /** One key, or several separated by commas. */
  apiKey?: Secret | undefined;
}

/** One row of `VENDORS_FILE`, checked (`vendors_file.ts`). */
export interface CustomVendor extends
  Pick<
    Vendor,
    "label" | "aliases" | "baseUrl" | "keyVariable" | "dialects" | "auth" | "modelsPath"
  > {
  /** One key, or several separated by commas. */
  apiKey: Secret | undefined;
  /**
   * Undefined: as in the row with the same label that this one overrides, if `dialects` has it;
   * else the first dialect.
   */
  translateTo?: DialectName;
}

export interface Registry {
  readonly all: readonly Vendor[];
  /** By label or alias. */
  find(name: string): Vendor | undefined;
}

/**
 * Builds the vendors from the built-in rows, the environment's overrides and the operator's rows.
 * Throws an Error of one line when two vendors would have the same name.
 */
export function createRegistry(
  settings: Readonly<Record<string, VendorSettings>>,
  custom: readonly CustomVendor[],
): Registry {
  const keysOf = splitKeys();
  const builtIn = rows.map((row): Vendor => {
    const own = settings[row.label] ?? {};
    const shared = settings[row.sharesWith] ?? {};
    const operators = custom.findLast((one) => one.label === row.sharesWith);
    const family = vendorFamilies.find((one) => one.label === row.label)!;
    return {
      ...row,
      baseUrl: own.baseUrl ?? operators?.baseUrl ?? shared.baseUrl ?? row.baseUrl,
      ...keysOf(own.apiKey ?? operators?.apiKey ?? shared.apiKey),
      keyVariable: `${row.label.toUpperCase().replace("-", "_")}_API_KEY`,
      aliases: family.aliases,
      family,
    };
  });
  const byLabel = new Map(builtIn.map((vendor) => [vendor.label, vendor]));
  for (const row of custom) {
    const existing = byLabel.get(row.label);
    byLabel.set(row.label, { ...customVendor(row, existing), ...ownKeys(keysOf, row, existing) });
  }
  const all = [...byLabel.values()];
  const byName = new Map<string, Vendor>();
  for (const vendor of all) {
    for (const name of [vendor.label, ...vendor.aliases]) {
      const other = byName.get(name) ?? vendor;
      if (other !== vendor) throw new Error(`${name}: names ${other.label} and ${vendor.label}`);
      byName.set(name, vendor);
    }
  }
  return { all, find: (name) => byName.get(name) };
}

type VendorKeys = Pick<Vendor, "apiKey" | "apiKeys">;

/** Splits keys at their commas; the same secret gives the same list each time. */
function splitKeys(): (secret: Secret | undefined) => VendorKeys {
  const lists = new Map<Secret, Secret[]>();
  return (secret) => {
    if (secret === undefined) return { apiKey: undefined, apiKeys: [] };
    const apiKeys = lists.get(secret) ??
      secret.reveal().split(",").map((one) => new Secret(one));
    lists.set(secret, apiKeys);
    return { apiKey: apiKeys[0], apiKeys };
  };
}

/** The row's own keys, else those of the row that it overrides. */
function ownKeys(
  keysOf: ReturnType<typeof splitKeys>,
  { apiKey }: CustomVendor,
  existing: Vendor | undefined,
): VendorKeys {
  return apiKey !== undefined || existing === undefined
    ? keysOf(apiKey)
    : { apiKey: existing.apiKey, apiKeys: existing.apiKeys };
}

/**
 * Builds the vendor of an operator's row. A row for an existing label changes the fields that it
 * names and keeps the rest.
 */
function customVendor(
  row: CustomVendor,
  existing: Vendor | undefined,
): Omit<Vendor, keyof VendorKeys> {
  const base = existing ??
    { ...chatDefaults, ...dialectDefaults[row.dialects[0] ?? "chat"], sharesWith: row.label };
  const aliases = [...new Set([...(existing?.aliases ?? []), ...row.aliases])];
  const operations: Vendor["operations"] = base.operations;
  const { translateTo: _, apiKey: __, apiKeys: ___, ...inherited } = base as Vendor;
  return {
    ...inherited,
    label: row.label,
    aliases,
    baseUrl: row.baseUrl,
    ...defined({ keyVariable: row.keyVariable }),
    dialects: row.dialects,
    ...translation(row, existing),
    auth: row.auth,
    modelsPath: row.modelsPath,
    family: existing ? { ...existing.family, aliases } : {
      label: row.label,
      name: row.label,
      aliases,
      kind: "vendor added by the operator",
      dialects: row.dialects,
      operations: operationKinds.filter((kind) => operations[kind] !== undefined),
    },
  };
}

/** The row's `translateTo`, else that of the row it overrides, if the row lists that dialect. */
function translation(row: CustomVendor, existing: Vendor | undefined): Pick<Vendor, "translateTo"> {
  const translateTo = row.translateTo ?? existing?.translateTo;
  return translateTo !== undefined && row.dialects.includes(translateTo) ? { translateTo } : {};
}
