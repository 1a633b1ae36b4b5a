/**
 * What a request said that can't be found any more after encoding and decoding again: paths, as a
 * loss would have to name them. A value that changed nothing says nothing, and what a dialect says
 * in another way is not lost (translation.md §5, §6, §8, §12).
 */
import type {
  CanonicalRequest,
  MediaPart,
  Part,
  SettingName,
  Tool,
  ToolResultPart,
} from "../../src/dialects/kernel/canonical_request.ts";
import type { EncodedRequest } from "../../src/dialects/kernel/dialect.ts";

export function vanished(
  before: CanonicalRequest,
  after: CanonicalRequest,
  encoded: EncodedRequest,
): string[] {
  return [
    ...vanishedSettings(before, after, encoded),
    ...vanishedTools(before, after, encoded),
    ...vanishedTexts(before, after),
    ...vanishedParts(before, after),
  ];
}

/** Settings whose exact value has to arrive. */
const exact: readonly SettingName[] = [
  "temperature",
  "topP",
  "topK",
  "stop",
  "choices",
  "seed",
  "frequencyPenalty",
  "presencePenalty",
  "logprobs",
  "logitBias",
  "modalities",
  "verbosity",
  "user",
  "serviceTier",
  "metadata",
];

function vanishedSettings(
  before: CanonicalRequest,
  after: CanonicalRequest,
  encoded: EncodedRequest,
): string[] {
  const lost = exact.filter((name) =>
    isEffective(before, name) && !same(before[name], after[name])
  );
  if (before.maxOutputTokens !== undefined && after.maxOutputTokens === undefined) {
    lost.push("maxOutputTokens");
  }
  // An effort may come back as a budget and the other way round; not wanting to see is no field.
  const asked = before.reasoning?.effort ?? before.reasoning?.budgetTokens;
  const heard = after.reasoning?.effort ?? after.reasoning?.budgetTokens;
  if (asked !== undefined && asked !== "none" && heard === undefined) lost.push("reasoning");
  if (before.format && before.format.type !== "text" && !isFormatted(after, encoded)) {
    lost.push("format");
  }
  // Where a tool is the form of the answer, the choice includes that one too.
  const isOwn = encoded.emulations.jsonTool === undefined;
  if (before.tools.length > 0 && isOwn) lost.push(...vanishedChoice(before, after));
  return lost.map((name) => before.paths[name] ?? name);
}

/** Values that change nothing are no loss. */
function isEffective(request: CanonicalRequest, name: SettingName): boolean {
  const value = request[name];
  if (value === undefined) return false;
  if (name === "choices") return value !== 1;
  if (name === "frequencyPenalty" || name === "presencePenalty") return value !== 0;
  // What every vendor does unasked.
  if (name === "temperature" || name === "topP") return value !== 1;
  if (name === "serviceTier") return value !== "auto";
  if (name === "modalities") return request.modalities?.includes("image") === true;
  if (typeof value !== "object") return true;
  return Object.keys(value).length > 0;
}

/** Natively, through a tool, or in words. */
function isFormatted(after: CanonicalRequest, encoded: EncodedRequest): boolean {
  // An answer that must be a call of the caller's tool has no text to be formatted.
  if (after.toolChoice?.mode === "required" && after.tools.length > 0) return true;
  return after.format !== undefined || encoded.emulations.jsonTool !== undefined ||
    allTexts(after).some(({ text }) => text.includes("JSON"));
}

function vanishedChoice(before: CanonicalRequest, after: CanonicalRequest): SettingName[] {
  const lost: SettingName[] = [];
  const { toolChoice: asked } = before;
  const heard = after.toolChoice ?? { mode: "auto" };
  const listed =
    asked?.names?.every((name) =>
      heard.names?.includes(name) || !unlisted(before, after).includes(name)
    ) ?? true;
  if (asked && (asked.mode !== heard.mode || !listed)) lost.push("toolChoice");
  const serial = before.parallelToolCalls === false && asked?.mode !== "none";
  if (serial && after.parallelToolCalls !== false) lost.push("parallelToolCalls");
  return lost;
}

function unlisted(before: CanonicalRequest, after: CanonicalRequest): string[] {
  const names = after.tools.map(({ name }) => name);
  return before.tools.map(({ name }) => name).filter((name) => !names.includes(name));
}

function vanishedTools(
  before: CanonicalRequest,
  after: CanonicalRequest,
  encoded: EncodedRequest,
): string[] {
  return before.tools.flatMap((tool) => {
    const found = after.tools.find(({ name }) => name === tool.name);
    // Tools that may not be called need not be sent.
    const allowed = before.toolChoice?.names?.includes(tool.name) ?? true;
    if (!found) return allowed ? [tool.path] : [];
    return vanishedOfTool(tool, found, encoded);
  });
}

function vanishedOfTool(tool: Tool, found: Tool, encoded: EncodedRequest): string[] {
  const lost: string[] = [];
  if (!(found.description ?? "").includes(tool.description ?? "")) lost.push("description");
  const toolMode = JSON.stringify(encoded.body.toolConfig ?? "");
  const isHeld = found.strict === true || /VALIDATED|ANY|NONE/.test(toolMode);
  if (tool.strict === true && !isHeld) lost.push("strict");
  if (tool.cache && !found.cache) lost.push("cache_control");
  if (tool.format !== undefined) {
    const inWords = (found.description ?? "").includes(JSON.stringify(tool.format));
    if (!inWords && !same(found.format, tool.format)) lost.push("format");
  }
  if (tool.parameters && Object.keys(found.parameters?.properties ?? {}).length === 0) {
    lost.push("parameters");
  }
  return lost.map((name) => `${tool.path}.${name}`);
}

function vanishedTexts(before: CanonicalRequest, after: CanonicalRequest): string[] {
  const there = allTexts(after).map(({ text }) => text).join("\n");
  return allTexts(before).filter(({ text }) => !there.includes(text)).map(({ path }) => path);
}

function allTexts(request: CanonicalRequest): { text: string; path: string }[] {
  return [
    ...request.system,
    ...allParts(request).flatMap((part) =>
      part.type === "text" || part.type === "refusal" ? [part] : []
    ),
  ];
}

/** Parts, those within results included. */
function allParts(request: CanonicalRequest): Part[] {
  return request.turns.flatMap(({ parts }) => parts)
    .flatMap((part): Part[] => part.type === "tool-result" ? [part, ...part.parts] : [part]);
}

function vanishedParts(before: CanonicalRequest, after: CanonicalRequest): string[] {
  const parts = allParts(after);
  const media = parts.filter((part) => part.type === "media");
  const marks = [...after.system, ...parts].filter((one) => "cache" in one && one.cache).length;
  const lost = allParts(before).flatMap((part) =>
    part.type === "media" ? vanishedMedia(part, media) : []
  );
  // The mark of a part that is lost is lost with it.
  const marked = [...before.system, ...allParts(before)].filter((one) =>
    "cache" in one && one.cache && !lost.includes(one.path)
  );
  if (marks < marked.length) lost.push(...marked.map(({ path }) => `${path}.cache_control`));
  const named = before.turns.filter(({ name }) => name !== undefined);
  const said = after.turns.filter(({ name }) => name !== undefined).map(textIn).join("\n");
  // A name is dropped together with its message.
  lost.push(
    ...named.filter((turn) => !said.includes(textIn(turn).split("\n")[0]!))
      .map(({ path }) => `${path}.name`),
  );
  return [...lost, ...vanishedCalls(before, after)];
}

/** The user's own words of a turn. */
function textIn({ parts }: CanonicalRequest["turns"][number]): string {
  return parts.flatMap((part) => part.type === "text" ? [part.text] : []).join("\n");
}

function vanishedMedia(part: MediaPart, found: readonly MediaPart[]): string[] {
  const same = found.filter((one) => placeOf(one) === placeOf(part));
  if (same.length === 0) return [part.path];
  const lost: string[] = [];
  if (part.detail !== undefined && !same.some(({ detail }) => detail === part.detail)) {
    lost.push(`${part.path}.detail`);
  }
  if (part.name !== undefined && !same.some(({ name }) => name === part.name)) {
    lost.push(`${part.path}.name`);
  }
  return lost;
}

function placeOf({ source }: MediaPart): string {
  switch (source.type) {
    case "base64":
      // A type that a dialect has no word for is another medium to the model.
      return `${source.mimeType} ${source.data}`;
    case "url":
      return source.url;
    case "vendor-file":
      return source.id;
  }
}

/** Calls keep name and arguments, results their call and whether they failed. */
function vanishedCalls(before: CanonicalRequest, after: CanonicalRequest): string[] {
  const calls = (request: CanonicalRequest) =>
    allParts(request).flatMap((part) =>
      part.type === "tool-call" ? [{ says: `${part.name} ${input(part)}`, path: part.path }] : []
    );
  const said = calls(after).map(({ says }) => says);
  const results = allParts(after).filter((part) => part.type === "tool-result");
  return [
    ...calls(before).filter(({ says }) => !said.includes(says)).map(({ path }) => path),
    ...allParts(before).flatMap((part) =>
      part.type === "tool-result" && part.isError && !results.some(saysError(part))
        ? [part.path]
        : []
    ),
  ];
}

function input(call: Part & { type: "tool-call" }): string {
  const value: unknown = call.custom ? { input: call.arguments } : JSON.parse(call.arguments);
  return JSON.stringify(value);
}

/** By its flag, or in words. */
function saysError(part: ToolResultPart) {
  return (other: ToolResultPart) =>
    other.isError ||
    other.parts.some((one) => one.type === "text" && one.text.startsWith("Error:")) &&
      part.parts.length > 0;
}

function same(a: unknown, b: unknown): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}
