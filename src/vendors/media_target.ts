import { Fault, invalidValue } from "../shared/fault.ts";
import { type ResolvedModel, resolveOnFamily, shorten } from "./model_name.ts";
import type { MediaRoute, Registry, Vendor } from "./registry.ts";

/** The fields of an image or speech request that choose vendor and model. */
export interface MediaChoice {
  provider?: string | null | undefined;
  model?: string | null | undefined;
}

/** The vendor, codec and model for an image or speech request. */
export interface MediaTarget<Codec> {
  target: ResolvedModel;
  codec: Codec;
  /** As the caller wrote it; the vendor's default model where it named none. */
  requestedModel: string;
}

type MediaKind = "images" | "speech";
type CodecOf<Kind extends MediaKind> = NonNullable<Vendor[Kind]>["codec"];

/**
 * Returns the vendor and model of a request (docs/images-and-speech.md). Throws
 * `missing_required_field` when neither is given or the vendor needs a model named, `invalid_value`
 * for a provider that is unknown, has nothing of this kind or contradicts the model's prefix, and
 * `model_not_found` for a model that is not of this kind.
 */
export function resolveMedia<Kind extends MediaKind>(
  registry: Registry,
  choice: MediaChoice,
  kind: Kind,
): MediaTarget<CodecOf<Kind>> {
  const { provider, model } = choice;
  if (provider == null && model == null) {
    throw new Fault("missing_required_field", {
      param: "provider",
      message: "provider: required, or model with the provider in front.",
    });
  }
  const prefix = model?.includes("/") ? model.slice(0, model.indexOf("/")) : undefined;
  const inFront = prefix === undefined ? undefined : registry.find(prefix);
  const named = provider == null ? undefined : registry.find(provider);
  if (provider != null && !named) throw noProvider(registry, kind, "provider", provider);
  if (named && inFront && inFront !== named && !named.hasNestedNames) {
    throw invalidValue(
      "provider",
      `'${shorten(provider!)}' contradicts the model '${
        shorten(model!)
      }', which is ${inFront.label}'s`,
    );
  }
  const vendor = named ?? inFront ?? registry.find(defaultProvider)!;
  const route = vendor[kind] as MediaRoute<CodecOf<Kind>> | undefined;
  if (!route) {
    const name = provider ?? prefix ?? vendor.label;
    throw noProvider(registry, kind, provider == null ? "model" : "provider", name);
  }
  const requestedModel = model ?? route.models[0];
  if (requestedModel === undefined) {
    throw new Fault("missing_required_field", {
      param: "model",
      message: `model: required for ${vendor.label}.`,
    });
  }
  const target = resolveOnFamily(vendor, requestedModel);
  if (!route.codec.hasModel(target.model)) throw noModel(target, route, kind);
  return { target, codec: route.codec, requestedModel };
}

/** The vendor for models without a provider prefix. */
const defaultProvider = "vendor-b";
const offered = { images: "image generation", speech: "speech" } as const;
const modelKinds = { images: "an image model", speech: "a speech model" } as const;

function noProvider(registry: Registry, kind: MediaKind, param: string, name: string): Fault {
  const able = registry.all.filter((vendor) => vendor[kind])
    .map(({ label, aliases }) => [label, ...aliases].join(" or "));
  return invalidValue(
    param,
    `'${shorten(name)}' is not a vendor with ${offered[kind]}; expected ${able.join(", ")}`,
  );
}

function noModel(
  { vendor, model }: ResolvedModel,
  { models }: MediaRoute<unknown>,
  kind: MediaKind,
): Fault {
  return new Fault("model_not_found", {
    param: "model",
    message: `model: '${shorten(model)}' is not ${
      modelKinds[kind]
    } of ${vendor.label}; available: ${models.join(", ")}.`,
  });
}

/**
 * Returns the `provider_options` for this vendor, given under its label or an alias. Throws
 * `invalid_value` for a name that belongs to no vendor.
 */
export function optionsFor(
  registry: Registry,
  vendor: Vendor,
  optionsByVendor: Readonly<Record<string, Readonly<Record<string, unknown>>>> | null | undefined,
): Readonly<Record<string, unknown>> {
  let options = {};
  for (const [name, fields] of Object.entries(optionsByVendor ?? {})) {
    const named = registry.find(name);
    if (!named) {
      throw invalidValue(
        "provider_options",
        `'${shorten(name)}' names no vendor; expected ${
          registry.all.map(({ label }) => label).join(", ")
        } or an alias`,
      );
    }
    if (named === vendor) options = { ...options, ...fields };
  }
  return options;
}
