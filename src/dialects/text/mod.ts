import type { DialectName } from "../../../contracts/calls/vendors.ts";
import type { Dialect } from "../kernel/dialect.ts";
import { chat } from "./chat/mod.ts";
import { generate } from "./generate/mod.ts";
import { messages } from "./messages/mod.ts";
import { responses } from "./responses/mod.ts";

/** Every dialect by its name. */
export const dialects: { readonly [Name in DialectName]: Dialect<Name> } = {
  chat,
  responses,
  messages,
  generate,
};
