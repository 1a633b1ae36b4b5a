import { pushAll } from "../../../base/lists.ts";
import type { Steps } from "../../../base/steps.ts";
import { SchemaBudget } from "../../kernel/schema_refs.ts";
import type { CacheMark, CanonicalRequest, Loss } from "../../kernel/canonical_request.ts";
import { type EncodedRequest, noEmulations, type Target } from "../../kernel/dialect.ts";
import { writeConfig } from "./request/encode_config.ts";
import { writeContents } from "./request/encode_contents.ts";
import { nameTools, planSearch, writeTools } from "./request/encode_tools.ts";
import { modelTraits } from "./models.ts";
import { ownTier } from "./usage.ts";
import { markPath } from "../../kernel/read_cache_mark.ts";
import { cacheSettings, loseSetting, loseSettings } from "../../kernel/setting_losses.ts";

/**
 * Writes a request for a vendor of this dialect. The path (`upstreamPath`), not the body, names the
 * model and streaming. Media must have been fetched (`mustInline`).
 */
export function* encodeRequest(
  request: CanonicalRequest,
  target: Target,
): Steps<EncodedRequest> {
  const traits = modelTraits(target.model);
  const losses: Loss[] = request.unsupported.map(({ path, weight }) => ({ path, weight }));
  const room = new SchemaBudget();
  const { aliasOf, toolNames } = yield* nameTools(request);
  const { contents, system } = yield* writeContents(request, { traits, aliasOf, losses });
  const search = planSearch(request, target, traits, losses);
  const tools = yield* writeTools(request, { traits, search, aliasOf, losses, room });
  const { config, instruction } = writeConfig(request, target, traits, losses, room);
  const texts = [...system.map(({ text }) => text), ...(instruction ? [instruction] : [])];
  if (!traits.system && texts.length > 0) {
    // Models without system instructions read them at the start of the first user turn.
    contents[0]!.parts.unshift({ text: texts.join("\n\n") });
  }
  pushAll(losses, yield* cacheLosses(request));
  loseSettings(request, ["promptCacheKey", ...cacheSettings], losses);
  return {
    body: {
      contents,
      ...(traits.system && texts.length > 0
        ? { systemInstruction: { parts: texts.map((text) => ({ text })) } }
        : {}),
      ...tools,
      ...(Object.keys(config).length > 0 ? { generationConfig: config } : {}),
      ...writeTier(request, losses),
    },
    losses,
    emulations: {
      ...noEmulations,
      toolNames,
      customTools: request.tools.filter(({ type }) => type === "custom").map(({ name }) => name),
      stripFence: instruction !== undefined,
    },
  };
}

function writeTier(request: CanonicalRequest, losses: Loss[]): Record<string, unknown> {
  const tier = request.serviceTier;
  if (tier === undefined || tier === "auto") return {};
  const serviceTier = ownTier(tier);
  if (serviceTier !== undefined) return { serviceTier };
  loseSetting(request, "serviceTier", "hint", losses);
  return {};
}

/** Returns all cache marks as losses, since the dialect has none. */
function* cacheLosses(request: CanonicalRequest): Steps<Loss[]> {
  const losses: Loss[] = [];
  const note = (one: { path: string; cache?: CacheMark }) => {
    if (one.cache === undefined) return;
    losses.push({ path: markPath(one.cache, one.path), weight: "hint" });
  };
  request.tools.forEach(note);
  if (request.webSearch) note(request.webSearch);
  request.system.forEach(note);
  for (const { parts } of request.turns) {
    yield;
    for (const part of parts) {
      note(part);
      if (part.type === "tool-result") part.parts.forEach(note);
    }
  }
  return losses;
}
