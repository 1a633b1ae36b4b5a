import type { CanonicalRequest, Loss } from "../../../kernel/canonical_request.ts";
import { isRecord, type JsonRecord } from "../../../kernel/json.ts";
import { inlineRefs, type SchemaBudget } from "../../../kernel/schema_refs.ts";
import type { ModelFacts } from "../models.ts";
import { strictSchema } from "./strict_schema.ts";
import { toolSchema } from "./tool_schema.ts";

/** How the asked output format reaches the vendor (translation.md §6). */
export interface FormatPlan {
  /** `output_config.format`. */
  native?: JsonRecord;
  /** A tool whose input is the answer, with the member that its schema was wrapped in. */
  tool?: { description: string; schema: JsonRecord; unwrap: string | undefined };
  /** A sentence for the system text. */
  instruction?: string;
  stripFence: boolean;
}

/** Grammars of more optional properties take long to compile or fail (messages.md §8.1). */
const comfortableOptional = 12;
const mostOptional = 24;

export function planFormat(
  request: CanonicalRequest,
  facts: ModelFacts,
  losses: Loss[],
  room: SchemaBudget,
): FormatPlan {
  const { format } = request;
  if (format === undefined || format.type === "text") return { stripFence: false };
  if (format.type === "json") {
    return {
      instruction: "Answer with one JSON object only, without any other text around it.",
      stripFence: true,
    };
  }
  const strict = strictSchema(format.schema, room);
  const mostAllowed = facts.forcedTools ? comfortableOptional : mostOptional;
  const isCarried = !strict.isRefused && !strict.isOpen && strict.optionalProperties <= mostAllowed;
  if (facts.structuredOutput && isCarried) {
    const schema = format.description === undefined
      ? strict.schema
      : { description: format.description, ...strict.schema };
    return { native: { type: "json_schema", schema }, stripFence: false };
  }
  if (!facts.forcedTools) {
    losses.push({ path: request.paths.format ?? "format", weight: "meaning" });
  } else if (forcesCall(request)) {
    return { stripFence: false };
  }
  return {
    tool: {
      description: format.description ?? "Gives the answer. Call this tool with the whole answer.",
      ...objectRoot(format.schema, room, request.paths.format ?? "format"),
    },
    stripFence: false,
  };
}

/**
 * The answer has to be a call of one of the caller's tools. It has no text to be formatted, and a
 * tool of ours would be a way around the demand.
 */
function forcesCall({ toolChoice, tools }: CanonicalRequest): boolean {
  return toolChoice?.mode === "required" && tools.length > 0;
}

/** A tool's input is an object: any other root goes into a member of one. */
function objectRoot(
  schema: JsonRecord,
  room: SchemaBudget,
  path: string,
): { schema: JsonRecord; unwrap: string | undefined } {
  const inlined = inlineRefs(schema, room);
  const root = inlined.schema ?? schema;
  const isObject = root.type === "object" || (root.type === undefined && !hasOtherRoot(root));
  if (isObject) return { schema: toolSchema(schema, room, path), unwrap: undefined };
  // References point from the root, which moves: they are replaced, or their targets go along.
  const { $defs, definitions, ...rest } = root;
  return {
    schema: {
      type: "object",
      properties: { result: rest },
      required: ["result"],
      additionalProperties: false,
      ...($defs === undefined ? {} : { $defs }),
      ...(definitions === undefined ? {} : { definitions }),
    },
    unwrap: "result",
  };
}

/** Without a type the branches tell; anything that names no properties may be any value. */
function hasOtherRoot(root: JsonRecord): boolean {
  if (isRecord(root.properties)) return false;
  const branches = [root.anyOf, root.oneOf, root.allOf].flatMap((one) =>
    Array.isArray(one) ? one : []
  );
  if (branches.length === 0) return root.enum !== undefined || root.const !== undefined;
  return branches.some((one) =>
    !isRecord(one) || (one.type !== "object" && !isRecord(one.properties))
  );
}
