import { finish } from "../../base/steps.ts";
import { Fault } from "../../shared/fault.ts";
import type { CanonicalRequest } from "./canonical_request.ts";
import type { Dialect } from "./dialect.ts";
import { isRecord } from "./json.ts";

/** A request with more wrong settings isn't read, since each one takes another pass over it. */
const maxLeftOut = 8;

/**
 * Reads a recorded request. A vendor of its own dialect may have accepted settings that the decoder
 * refuses (`"temperature": "0.5"`): they are left out, and the prompt is still read.
 */
export function decodeRecorded(
  dialect: Pick<Dialect, "decodeRequest" | "promptFields">,
  body: unknown,
): CanonicalRequest {
  let rest = body;
  for (let leftOut = 0;; leftOut++) {
    try {
      return finish(dialect.decodeRequest(rest));
    } catch (thrown) {
      const [field = ""] = (thrown instanceof Fault ? thrown.param : "")?.split(/[.[]/, 1) ?? [];
      const isSetting = isRecord(rest) && Object.hasOwn(rest, field) &&
        !dialect.promptFields.includes(field);
      if (!isSetting || leftOut === maxLeftOut) throw thrown;
      const { [field]: _, ...others } = rest as Record<string, unknown>;
      rest = others;
    }
  }
}
