import { pushAll } from "../../../base/lists.ts";
import type { Steps } from "../../../base/steps.ts";
import type { CanonicalRequest, UnsupportedField } from "../../kernel/canonical_request.ts";
import { isRecord, type JsonRecord } from "../../kernel/json.ts";
import { otherFields, unknownFields } from "../../kernel/other_fields.ts";
import { readConfig } from "./request/decode_config.ts";
import { readContents, readSystem } from "./request/decode_contents.ts";
import { detailOf } from "./request/decode_parts.ts";
import { readToolChoice, readTools } from "./request/decode_tools.ts";
import { knownFields } from "./known_fields.ts";
import { bareModel } from "./models.ts";
import { camelCase, Fields } from "./request/fields.ts";

/**
 * Reads a generate request into the canonical form: its JSON body with the members `model` and
 * `stream` that the route adds from the path. Null is "not set".
 */
export function* decodeRequest(body: unknown): Steps<CanonicalRequest> {
  const request = new Fields(body as JsonRecord, "");
  const unsupported: UnsupportedField[] = [];
  const config = request.object("generationConfig") ?? new Fields({}, "generationConfig");
  const system = readSystem(request);
  const turns = yield* readContents(request, {
    unsupported,
    detail: detailOf(config.string("mediaResolution")),
  });
  const { tools, webSearch } = readTools(request, unsupported);
  const toolChoice = readToolChoice(request);
  const { settings, paths } = readConfig(config, unsupported);
  const serviceTier = request.string("serviceTier");
  const unknown = unknownFields(request.record, knownFields, {
    weightOf: (name) => hints.has(name) ? "hint" : "meaning",
    changesNothing: (name, value) => value === false ? hints.has(name) : isEmptyObject(value),
    spell: camelCase,
  });
  pushAll(unsupported, unknown);
  pushAll(unsupported, yield* otherFields(request.record, knownFields, camelCase));
  return {
    model: bareModel(String(request.record.model)),
    stream: request.record.stream === true,
    system,
    turns,
    turnsPath: "contents",
    tools,
    ...(toolChoice.choice ? { toolChoice: toolChoice.choice } : {}),
    ...(webSearch ? { webSearch } : {}),
    ...settings,
    ...(serviceTier ? { serviceTier: tierName(serviceTier) } : {}),
    unsupported,
    paths: {
      ...paths,
      ...(toolChoice.choice ? { toolChoice: toolChoice.path } : {}),
      ...(serviceTier ? { serviceTier: request.at("serviceTier") } : {}),
    },
  };
}

/**
 * Fields whose loss is a hint. Others change the answer (a cache, a continuation), or are unknown.
 */
const hints: ReadonlySet<string> = new Set(["safetySettings", "labels", "store"]);

const isEmptyObject = (value: unknown) => isRecord(value) && Object.keys(value).length === 0;

/** Other dialects call `standard` `default`. */
function tierName(tier: string): string {
  const name = tier.toLowerCase();
  return name === "standard" ? "default" : name;
}
