import type { Contract, ErrorDialect } from "../contracts/contract.ts";
import { errorBody } from "../contracts/error_bodies.ts";
import { type ErrorCode, errors } from "../contracts/errors.ts";
import type { Example } from "./shapes.ts";

/** Every error that the contracts name, in the words of each dialect that can say it. */
export function errorExamples(contracts: readonly Contract[]): Record<string, Example> {
  const found: Record<string, Example> = {};
  for (const contract of contracts) {
    for (const code of contract.codes) {
      found[errorExampleName(code, contract.dialect)] ??= {
        summary: errors[code].message,
        value: errorBody(
          { code, message: errors[code].message, param: undefined, requestId },
          contract.dialect,
        ),
      };
    }
  }
  return found;
}

/** Chat and responses say errors alike. */
export function errorExampleName(code: ErrorCode, dialect: ErrorDialect): string {
  return `${dialect === "responses" ? "chat" : dialect}.${code}`;
}

const requestId = "order-1042";
