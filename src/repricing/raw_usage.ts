import type { DialectName } from "../../contracts/calls/vendors.ts";
import { readUsage } from "../dialects/text/chat/usage.ts";
import type { DialectQuirks } from "../dialects/kernel/dialect.ts";
import { readUsage as readGenerateUsage } from "../dialects/text/generate/usage.ts";
import { readUsage as readMessagesUsage } from "../dialects/text/messages/usage.ts";
import { readUsage as readResponsesUsage } from "../dialects/text/responses/usage.ts";
import type { Usage } from "../shared/usage.ts";

/**
 * A vendor's own usage object, as records keep it, in the neutral form; undefined when it holds no
 * numbers. What a dialect tells elsewhere in its answer (the service tier of chat, searches of
 * generate) isn't in it.
 */
export function readRawUsage(
  dialect: DialectName,
  raw: unknown,
  quirks: DialectQuirks,
): Usage | undefined {
  return readers[dialect](raw, quirks);
}

const readers: Readonly<
  Record<DialectName, (raw: unknown, quirks: DialectQuirks) => Usage | undefined>
> = {
  chat: readUsage,
  responses: (raw, quirks) => readResponsesUsage({ usage: raw }, quirks),
  messages: (raw) => readMessagesUsage(raw),
  generate: (raw) => readGenerateUsage(raw),
};
