import type { CanonicalRequest, Loss } from "../../../kernel/canonical_request.ts";
import type { JsonRecord } from "../../../kernel/json.ts";
import { wrappedMember, wrappedRoot } from "../../../kernel/format_schema.ts";
import type { SchemaBudget } from "../../../kernel/schema_refs.ts";
import type { ModelFacts } from "../models.ts";
import { strictSchema } from "./strict_schema.ts";
import { toolSchema } from "../../../kernel/tool_schema.ts";
import { loseSetting, settingPath } from "../../../kernel/setting_losses.ts";

export interface FormatPlan {
  /** `output_config.format`. */
  native?: JsonRecord;
  /** A tool whose input is the answer; `unwrap`: the member that its schema was wrapped in. */
  tool?: { description: string; schema: JsonRecord; unwrap: string | undefined };
  /** A sentence for the system text. */
  instruction?: string;
  stripFence: boolean;
}

/** With more optional properties the grammar takes long to compile, or fails. */
const comfortableOptional = 12;
const maxOptional = 24;

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
  const maxAllowed = facts.forcedTools ? comfortableOptional : maxOptional;
  const isCarried = !strict.isRefused && !strict.isOpen && strict.optionalProperties <= maxAllowed;
  if (facts.structuredOutput && isCarried) {
    const schema = format.description === undefined
      ? strict.schema
      : { description: format.description, ...strict.schema };
    return { native: { type: "json_schema", schema }, stripFence: false };
  }
  if (!facts.forcedTools) {
    loseSetting(request, "format", "meaning", losses);
  } else if (forcesCall(request)) {
    return { stripFence: false };
  }
  // A tool's input must be an object.
  const wrapped = wrappedRoot(format.schema, room);
  return {
    tool: {
      description: format.description ?? "Gives the answer. Call this tool with the whole answer.",
      schema: wrapped ?? toolSchema(format.schema, room, settingPath(request, "format")),
      unwrap: wrapped && wrappedMember,
    },
    stripFence: false,
  };
}

/**
 * Whether the answer must be a call of the caller's tools. Such an answer has no text to format,
 * and adding a tool of ours would let the model evade the demand.
 */
function forcesCall({ toolChoice, tools }: CanonicalRequest): boolean {
  return toolChoice?.mode === "required" && tools.length > 0;
}
