import type { AnswerPart } from "../../../kernel/canonical.ts";
import type { Opaque } from "../../../kernel/canonical_request.ts";
import { isRecord } from "../../../kernel/json.ts";
import { ownMembersOf } from "../../../kernel/own_fields.ts";
import { readArguments } from "../../../kernel/read_arguments.ts";
import { callMark } from "../request/call_mark.ts";
import { addOwn } from "./own_part.ts";

/**
 * Writes a block of an answer as a part; undefined if this dialect can't express it: another
 * dialect's block, or a call whose arguments aren't a JSON object (`isInvalidCall`).
 */
export function answerPart(part: AnswerPart): Record<string, unknown> | undefined {
  const written = writePart(part);
  return written && part.own ? addOwn(written, ownMembersOf("generate", part)) : written;
}

function writePart(part: AnswerPart): Record<string, unknown> | undefined {
  switch (part.kind) {
    case "text":
    case "refusal":
      return part.text === "" && !signatureOf(part.opaque)
        ? undefined
        : { text: part.text, ...signatureOf(part.opaque) };
    case "reasoning":
      return part.text === "" && !signatureOf(part.opaque)
        ? undefined
        : { text: part.text, thought: true, ...signatureOf(part.opaque) };
    case "tool-call": {
      const args = part.custom ? { input: part.text } : readArguments(part);
      if (args === undefined) return undefined;
      return {
        functionCall: { ...(part.id === "" ? {} : { id: part.id }), name: part.name, args },
        ...(part.id === "" ? {} : { thoughtSignature: callMark(part.id) }),
        ...signatureOf(part.opaque),
      };
    }
    case "media":
      return {
        inlineData: { mimeType: part.mimeType, data: part.text },
        ...signatureOf(part.opaque),
      };
    case "vendor":
      if (part.opaque?.kind === "block") return readArguments({ text: part.opaque.value });
      return part.dialect === "generate" && isRecord(part.value)
        ? { ...part.value, ...signatureOf(part.opaque) }
        : undefined;
  }
}

/** Whether this dialect can't express a call: its arguments must be an object. */
export function isInvalidCall(part: AnswerPart): boolean {
  return part.kind === "tool-call" && !part.custom && readArguments(part) === undefined;
}

/** Returns the signature of a part, if a vendor of this dialect made it. */
export function signatureOf(opaque: Opaque | undefined): { thoughtSignature: string } | undefined {
  return opaque?.dialect === "generate" && opaque.kind === "thoughtSignature"
    ? { thoughtSignature: opaque.value }
    : undefined;
}
